"""Limits on connections and requests, applied before any other code of the web server.

On a connection, before there is a request:

resource_limits    the numbers
connection_census  who is connected, who makes room, when the handshake of a websocket is answered
transfer_rate      who is too slow
unread_answer      how much an answer takes until its client has read it
request_parser     HTTP: heads are bounded while they are parsed
protocol           HTTP: heads, bodies and readers are timed, and all that waits is bounded
websocket_guard    websockets; `frame_budget` is what all of them may send
connection_close   how a connection ends, whatever its client does

On a request, before anything of it is kept:

client_identity     whose request it is, behind trusted proxies
guard               the ASGI application before all others
callers             who may send a large body; `guess_limits` is who may not even ask
body_limits         how large a body each address takes
concurrency_limits  how many are worked on at once; `sign_in_queue` is whose password is checked next
refusals            an answer in the form its address speaks
"""
