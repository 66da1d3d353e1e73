"""The gateway: clients call it like a provider, each call becomes a turn, and truncated answers are continued.

Theory of operation. `app` is an ASGI application beside Django: a Django view would cost more than all else here. Who
asks is looked up in `access`, what they ask is read by the door at its address (`wire.doors`: one for each dialect that
callers speak), whom they mean is found by `routing`: keys and routes are kept in the process for a second, so that no
call waits for a query. `serving` makes the turn of it (`beginning`) and drives that here, in memory (`driving`): it
advances the machine, makes its calls (`upstream`), and tells the recorder each step. Tools are run by the client, so
whole calls end the turn. What the client is told is made by the same door from the turn's end, by the one table of
`wire.reasons`; while a stream runs, `serving.streaming` tells it what is sure already: `wire.seams` holds back what a
continuation may only repeat. The end is told when the turn is in the database (`recording`), not before.

Two modes. *Observe*: one call, under limits that allow nothing more; of an upstream that speaks the caller's dialect
the bytes go through as they are (`serving.passing`), of any other they are translated. *Continue*: the machine
continues, repairs and retries as the policy says. What is no turn is handed on (`serving.relaying`).

app         the addresses, in front of Django's; `read_requests` and `address_faults` answer those that take no call
routing     where a call goes, and under which policy; `model_list` is what a caller may name
access      the door: whose secret a request carries, what it may call, how fast, and for how much
wire        what is on the wire, pure: requests read, answers, reasons and faults said, to upstreams of every dialect;
            a folder for each dialect of callers, which its `door` sums up
serving     one call from its turn to its last byte
recording   how that gets into Postgres: in groups, by one statement
models      keys, the names callers may use (aliases), what keys have spent, and one row for each call; the other
            modules here are their pages
"""
