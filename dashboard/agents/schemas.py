"""JSON Schema for the core: the library's own validator, made once. It never fetches a remote `$ref`."""

from agentcore.schema import jsonschema_rs_validator

#: Every breach of a schema by a value, in the validator's order: `violations(schema, value)`.
violations = jsonschema_rs_validator()

__all__ = ["violations"]
