"""Structured answers that an earlier release could not judge: its bounds were smaller, and its histories stay valid."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.policy import Policy, Validator, Violation
from agentcore.schema_cost import TooMuchWork, steps
from agentcore.schema_size import parts_of
from agentcore.values import replace

#: The bounds of core versions before 13: objects and arrays of a schema, and pairs that are looked at.
SUBSCHEMAS, LOOKED_AT = 10_000, 200_000
_SAID = f"could not be judged ({TooMuchWork.__name__})"


@dataclass(frozen=True, slots=True)
class FormerBounds:
    """A validator that refuses what an earlier release refused."""

    validate: Validator

    def __call__(self, schema: Mapping[str, Any], value: Any) -> list[Violation]:
        if exceeds_former(schema, value):
            raise TooMuchWork("An earlier release did not judge as much.")
        return self.validate(schema, value)


def exceeds_former(schema: Any, value: Any) -> bool:
    """Whether judging this value by the schema was too much for an earlier release."""
    if sum(1 for _ in parts_of(schema)) > SUBSCHEMAS:
        return True
    try:
        steps(schema, value, LOOKED_AT)
    except TooMuchWork:
        return True
    return False


def as_bounded(policy: Policy, command: Mapping[str, Any]) -> Policy:
    """The policy for the record with this command (as JSON): where that says that the answer was too much to judge, so
    is what was too much for an earlier release."""
    if policy.validate is None or _SAID not in str(command.get("error_message", "")):
        return policy
    return replace(policy, validate=FormerBounds(policy.validate))
