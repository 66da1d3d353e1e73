"""What stands before everything else that the web server runs: nothing of it knows who asks, and nothing opens a file.

bounds.py     the numbers                             refusing.py    an answer in the form its address speaks
census.py     who is connected, and who keeps us      protocol.py    HTTP and websockets on one connection: heads,
              waiting                                                bodies and readers are timed, heads are bounded
sizes.py      how large a body an address takes       entrance.py    the ASGI application before all others
"""
