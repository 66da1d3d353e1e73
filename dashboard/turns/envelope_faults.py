"""What is wrong with a structured answer, for people: fields and rules, without pointers into the schema."""

from agentcore.envelope import EnvelopeFault
from agentcore.schema_violations import fields_text
from agentcore.snapshot import Snapshot


def wrong_fields(last: Snapshot) -> str:
    """`field “title”: the type must be integer`, of an answer that its schema does not allow; else empty."""
    schema, reading = last.asked.envelope_schema, last.reading
    if schema is None or reading is None or reading.fault is not EnvelopeFault.SCHEMA_VIOLATION or not reading.payload:
        return ""
    return fields_text(schema, reading.payload.value, reading.violations)
