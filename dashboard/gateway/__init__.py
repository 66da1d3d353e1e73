"""The gateway: clients call it like a provider, each call becomes a turn, and truncated answers are continued.

Theory of operation. `app` is an ASGI application beside Django: a Django view would cost more than all else here. Who
asks is looked up in `access`; what they ask is parsed by the caller dialect of the address (`wire.caller_dialects`);
whom they mean is found by `routing`. Keys and routes are kept in the process for a second, so that no call waits for a
query. `serving.turn_setup` makes the turn of it, and `serving.call_driver` drives that here, in memory: it advances the
machine, makes its calls (`serving.upstream_call`), and tells the recorder each step. Tools are run by the client, so
whole calls end the turn. The same dialect writes the client's answer from the turn's end, by the one table of
`wire.finish_reasons`; while a stream runs, `serving.stream_translator` sends what is final: `wire.overlap_buffer` holds
back what a continuation may only repeat. The end is sent when the turn is in the database (`recording`), not before.

Two modes. *Observe*: one call, under limits that allow nothing more; of an upstream that speaks the caller's dialect
the bytes go through as they are (`serving.passthrough`), of any other they are translated. *Continue*: the machine
continues, repairs and retries as the policy says. What is no turn is relayed (`serving.request_relay`).

app         the addresses, in front of Django's; `lookups` answers those that take no call
routing     where a call goes, and under which policy
access      authentication: whose secret a request carries, what it may call, how fast, and for how much
wire        what is on the wire, pure: requests, answers, finish reasons and faults, to upstreams of every dialect; a
            folder for each dialect of callers, which its `dialect` sums up
serving     one call from its turn to its last byte
recording   how that gets into Postgres: in groups, by one statement
models      keys, the names callers may use (aliases), what keys have spent, and one row for each call; the other
            modules here are their pages
"""
