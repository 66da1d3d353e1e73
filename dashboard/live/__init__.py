"""Driving turns: the only place that talks to providers and runs an agent's tools.

services      writes around a turn: start, cancel, control; the history is its driver's alone
changes       what an operator wants changed, judged in words
tasks         the durable job of a turn; `worker` runs such jobs, in `up` or by itself, with what `engine` shares
driver        performs commands, makes events of what happens, records every step
calling       one call of the model; `transport` is its HTTP, `framing_watch` sees bodies that break off,
              `provider_auth` and `aws_signature` what it is sent with, `response_reader` what comes of its bytes
claims        one run of the tools, none of them twice
inbox         signals of people on their way to drivers (`models.Signal`)
announcing    ids to whoever watches
rooms         the sockets that watch the same, and the one task that looks for all of them; `scenes` are what they look
              at, `subscriber` one socket each, `websocket_app` the way in; `consumers` render the pages' own parts
watching      a socket that looks for itself alone, where what it shows is its own
offload       the database, from an event loop
"""
