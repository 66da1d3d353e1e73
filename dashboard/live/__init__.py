"""Drives turns: the only place that calls providers and runs an agent's tools.

services          writes around a turn: start, cancel, control; the history is its driver's alone
operator_changes  what an operator wants changed, judged in words
tasks             the durable job of a turn, and what such jobs share
driver            performs commands, makes events of what happens, records every step
model_call        one call of the model; `transport` is its HTTP, `body_reader` reads a body to its end,
                  `provider_auth` what it is sent with, `response_reader` what comes of its bytes
tool_claims       one run of the tools, none of them twice
signal_inbox      signals of people on their way to drivers (`models.Signal`)
broadcast_hub     the sockets that watch the same, and the one task that looks for all of them; `scenes` are what they
                  look at, `websocket_app` the way in; `consumers` render the pages' own parts
turn_events       what a program that watches a turn is told
conversations     turns of one agent that follow one another: the pages and their socket
conversation_queue  which turn of one runs next: the database decides, under the conversation's lock; and the messages
                    that a turn is given of those before it (docs/how-to/conversations.md)
"""
