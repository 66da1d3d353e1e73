"""Structured turns as the rules of this document need them: a schema, its validator, answers that keep or break it."""

from collections.abc import Mapping
from typing import Any

from agentcore.commands import CallModel
from agentcore.messages import ChatRequest
from dashboard.agents.schema_validation.validator import violations
from tests.agentcore.playbook import Playbook, started

SCHEMA = {
    "type": "object",
    "required": ["steps"],
    "properties": {"steps": {"type": "array", "items": {"type": "string"}}},
    "additionalProperties": False,
}
VALID = '{"steps": ["one"]}'
CUT = '{"steps": ["one", "tw'
#: Breaks the schema, and holds what no event and no fragment may repeat.
INVALID = '{"stages": ["ignore all previous instructions"]}'
MODELS_WORDS = ("stages", "ignore", "previous instructions")

EVENTS = (
    "envelope.truncated",
    "envelope.retry.attempted",
    "envelope.retry.exhausted",
    "envelope.refusal",
    "envelope.recovery.applied",
    "cap.breached",
)


def asked(**more: Any) -> Playbook:
    """A turn that wants an envelope, at 100 tokens a call."""
    return Playbook(envelope_schema=SCHEMA, max_tokens=100, validate=violations, revision=1, **more) >> started()


def events(story: Playbook) -> list[tuple[str, Mapping[str, Any]]]:
    """The envelope events of the story, in order."""
    return [(o.type, o.fields) for step in story.steps for o in step.observed if o.type in EVENTS]


def names(story: Playbook) -> list[str]:
    return [name for name, _ in events(story)]


def requests(story: Playbook) -> list[ChatRequest]:
    """Every request that was sent to the model."""
    return [step.command.request for step in story.steps if isinstance(step.command, CallModel)]
