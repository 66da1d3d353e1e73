"""Idempotent writes: a repeated request is executed once (`Idempotency-Key`, as in the IETF draft).

models      the answers that are kept
services    claims a key before a write, keeps the answer after it, erases what is old; locks what `If-Match` guards
"""
