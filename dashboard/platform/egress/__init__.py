"""Which addresses Whystop may call, and which keys it may send there.

rules          `WHYSTOP_EGRESS`: which addresses may be connected to
addresses      what kind of address one is, also where it is written inside another
proxies        the proxy of the environment for an address
address_check  an address that was resolved, or a name that a proxy will resolve, judged by the rules
keys           `WHYSTOP_KEY_NAMES`: which variables hold keys, and to which hosts each may go; the keys of well-known
               vendors go to their vendor's hosts where the list says nothing else
hidden_keys    keys that a server sends back, hidden in its answer

Every client of ours asks here: the transport of model calls (`dashboard.live.transport`), that of MCP servers
(`dashboard.tools.mcp`) and that of sign-in (`dashboard.accounts.openid_session`). All judge the very address that they
then connect to.
"""
