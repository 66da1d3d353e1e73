"""Tools of other programs, called by the Model Context Protocol.

servers     a server as a visit needs it; how its tools are called by agents and by providers
session     one visit to a server: connect, ask one thing, leave; on an event loop of its own; and
            what went wrong on it, in a sentence
transports  the two ways to a server: streamable HTTP (`guarded_transport`), and a command's standard input and output
responses   what a server says, as our values

Every call is a visit of its own. That costs a handshake, and nothing is ever in the way of the next call: no session
that has died, no reader that is stuck, no state of one turn that another could see.
"""
