"""Attributes as OpenTelemetry's GenAI conventions name them, and our own beside them. Pure."""

from collections.abc import Mapping

from dashboard.ingest.wire.bodies import INSTANCE

__all__ = ["INSTANCE", "SCOPE", "SERVICE", "provider_named"]

SCOPE = "whystop"
SERVICE = "whystop"
PROVIDERS: Mapping[str, str] = {
    "openai": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gemini",
    "bedrock": "aws.bedrock",
    "cohere": "cohere",
}


def provider_named(dialect: str) -> str:
    """Of a dialect that the conventions have no name for, its own."""
    return PROVIDERS.get(dialect, dialect)
