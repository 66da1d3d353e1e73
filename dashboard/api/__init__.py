"""The API for programs, /api/v1 (design §4.3).

api                             the API itself: its routers, its parser, its errors
callers                         who may call, and who may write
body_parser                     request bodies: bounded, strict JSON
request_schemas, replay_request_schemas  what callers send; `request_base` is what these have in common
turn_response_schemas           what they are given of turns; other `…_response_schemas` have the rest
streaming                       a turn's events, server-sent
sockets                         the same over a socket, which takes actions too
list_pages                      a page of any list
middleware                      what holds for every call: rate limits, entity tags, idempotent and conditional writes
problems                        every error, as problem details
conformance                     for programs that check what this host promises of envelopes
idempotency                     writes that are done once however often they are sent
openapi                         what the schema says beside what the routers know; `openapi_headers` and
                                `openapi_examples` belong to it
"""
