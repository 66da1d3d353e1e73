"""JSON Schema for the core: every breach of a schema by a value, `violations(schema, value)`. It never fetches a remote
`$ref`, and what it takes is bounded (`schema_validation`)."""

from dashboard.agents.schema_validation.validator import violations

__all__ = ["violations"]
