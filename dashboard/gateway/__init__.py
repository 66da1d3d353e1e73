"""The gateway: OpenAI clients are pointed here, each call is recorded as a turn, and cut answers come back whole.

Theory of operation. `app` is an ASGI application beside Django: a Django view would cost more than all else here. Who
asks is looked up in `keys`, what they ask is read by `asking` (pure), whom they mean is found by `routing`: both are
kept in the process for a second, so that no call waits for a query. `beginning` makes the turn of it. `driving` drives
that turn here, in memory: it advances the machine, makes its calls (`upstream`), and tells the recorder each step.
Tools are run by the client, so whole calls end the turn. What the client is told is made by `answering` (pure) from the
turn's end, by the one table of `reasons`; while a stream runs, `streaming` tells it what is sure already: `seams` holds
back what a continuation may only repeat. The end is told when the turn is in the database (`recording`), not before.

Two modes. *Observe*: one call, under limits that allow nothing more; of an OpenAI-style upstream the bytes go through
as they are (`passing`), of any other they are translated. *Continue*: the machine continues, repairs and retries as the
policy says.

keys        the door: whose secret a request carries, what it may call, how fast, and for how much
models      keys, the names callers may use (aliases), what keys have spent, and one row for each call
"""
