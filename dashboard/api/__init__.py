"""The API for programs, /api/v1 (design §4.3).

api         the API itself: its routers, its parser, its errors
callers     who may call, and who may write
reading     request bodies: bounded, strict JSON
bodies      what callers send
answers     what they are given
streaming   a turn's events, server-sent
sockets     the same over a socket, which takes actions too; formats chooses it
list_pages  a page of any list
middleware  what holds for every call: rate limits, entity tags, idempotent and conditional writes
problems    every error, as problem details
openapi     what the schema says beside what the routers know; its headers and its examples
"""
