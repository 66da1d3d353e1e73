"""Telemetry: turns sent to other tools as OTLP spans and metrics (OpenTelemetry GenAI conventions).

The database queues each turn that ends for every destination that is on (migration 0001); a worker sends them.
Turns that were ingested came from telemetry, and are not sent: what two installations send each other goes no further.

names        the attributes, and what a dialect is called there
turn_data    a turn that ended with its attempts and tool runs, as values
spans        → protobuf's spans
measures     → protobuf's metrics of a batch
queue        what waits, whose turn it is to send, and what became of it
exporter     batches sent, and sent again
"""
