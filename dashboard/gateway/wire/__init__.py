"""The requests, answers and errors of the gateway's dialects, as values. Pure.

A *door* (`caller_dialect.Door`) is one dialect of callers, and a folder here: `chat`, `messages`, `responses`,
`gemini`. Each
has the same few modules (`asking`, `conversation`, `tools`, `answering`, `words`, `caller_dialect`); `caller_dialects`
is the table of
them. What is asked is the same value for all (`parsed_request`), and so is what is told (`answer_values`, `faults`, and
`finish_reasons`, the
table of how a turn ended). Where the upstream speaks another dialect than the caller, `request_fields` has the words
for what
was asked.
"""
