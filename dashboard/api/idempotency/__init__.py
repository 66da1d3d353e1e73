"""Writes that are done once however often they are sent: `Idempotency-Key`, as the IETF's draft of that name has it.

models      the answers that are kept
services    claims a key before a write, keeps the answer after it, erases what is old; locks what `If-Match` guards
"""
