"""What callers and the gateway say to each other, as values: requests, answers, faults. Pure.

A *door* (`door.Door`) is one dialect of callers, and a folder here: `chat`, `messages`, `responses`, `gemini`. Each
has the same few modules (`asking`, `conversation`, `tools`, `answering`, `words`, `door`); `doors` is the table of
them. What is asked is the same value for all (`asked`), and so is what is told (`answers`, `faults`, and `reasons`, the
table of how a turn ended). Where the upstream speaks another dialect than the caller, `dialects` has the words for what
was asked.
"""
