"""The requests, answers and errors of the gateway's dialects, as values. Pure.

A caller dialect (`caller_dialect.CallerDialect`) is the API that a client speaks, and a folder here: `chat`,
`messages`, `responses`, `gemini`. Each has the same few modules (`request_parser`, `conversation`, `tools`,
`serializers`, `dialect`); `caller_dialects` is the table of them. What is asked is the same value for all
(`parsed_request`), and so is what is answered (`answer_values`, `faults`, and `finish_reasons`, the table of how a turn
ended). Where the upstream speaks another dialect than the caller, `request_fields` maps the fields of the request.
"""
