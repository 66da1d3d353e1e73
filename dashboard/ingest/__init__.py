"""Records turns that ran elsewhere, from the traces of their instrumentation (OTLP/HTTP).

wire            bodies to spans and log events, and answers to exporters; pure
conventions     what a span tells of a model's call, by each instrumentation's names; pure
assembly        what was seen of a trace → its turns with their histories; pure
models          spans as they came, and which turn came of which trace
refusals        what exporters were told is refused, for people to see
span_store      spans in and out of the database
recorder_parts  a turn's history as what the recorder is told of a turn
turn_store      turns of a trace: written, written anew where more of the trace has come, taken back
services        all of it for one request, in one transaction
app             the addresses `/v1/traces` and `/v1/logs`
logs            files that people have already, of many forms
turn_files      turns of another installation, as files
local_files     all of these on this machine, for `manage.py import`
"""
