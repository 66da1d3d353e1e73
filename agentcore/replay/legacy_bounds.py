"""What an earlier release could not judge, answers and arguments of tool calls: its bounds were smaller, and its
histories stay valid.

A structured answer says so in its record. Of a call the record tells only whether it ran: one that fits its schema
today, and neither ran nor was asked for, was too much for the release that judged it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcore.commands import RunTools
from agentcore.envelope import EnvelopeFault
from agentcore.policy import Policy, Validator, Violation
from agentcore.schema_cost import TooMuchWork, steps
from agentcore.schema_size import parts_of
from agentcore.serial import type_name
from agentcore.states import State, Trigger
from agentcore.values import replace

#: The bounds of core versions before 13: objects and arrays of a schema, and pairs that are looked at.
SUBSCHEMAS, LOOKED_AT = 10_000, 200_000
_RUNS, _BROKEN, _JUDGED = type_name(RunTools), Trigger.BROKEN_TOOL_CALL.value, State.EVALUATE_STOP.value
_UNKNOWN = EnvelopeFault.UNKNOWN.value


@dataclass(frozen=True, slots=True)
class FormerBounds:
    """A validator that refuses what an earlier release refused."""

    validate: Validator

    def __call__(self, schema: Mapping[str, Any], value: Any) -> list[Violation]:
        if exceeds_former(schema, value):
            raise TooMuchWork("An earlier release did not judge as much.")
        return self.validate(schema, value)


@dataclass(frozen=True, slots=True)
class FormerCalls:
    """A validator of arguments that finds those too much which an earlier release refused for their size."""

    validate: Validator
    ran: Sequence[Mapping[str, Any]]  #: the arguments with which the record runs tools

    def __call__(self, schema: Mapping[str, Any], value: Any) -> list[Violation]:
        found = self.validate(schema, value)
        if not found and value not in self.ran and exceeds_former(schema, value):
            raise TooMuchWork("An earlier release did not judge as much.")
        return found


def exceeds_former(schema: Any, value: Any) -> bool:
    """Whether judging this value by the schema was too much for an earlier release."""
    if sum(1 for _ in parts_of(schema)) > SUBSCHEMAS:
        return True
    try:
        steps(schema, value, LOOKED_AT)
    except TooMuchWork:
        return True
    return False


def as_bounded(policy: Policy, transitions: Sequence[Mapping[str, Any]], command: Mapping[str, Any]) -> Policy:
    """The policy for the record with these transitions and this command (as JSON): what it refused to judge, or did not
    run, is too much where it was too much for an earlier release."""
    if policy.validate is None:
        return policy
    if any(_was_unknown(transition) for transition in transitions):
        return replace(policy, validate=FormerBounds(policy.validate))
    if command.get("type") == _RUNS or any(_asks_again(transition) for transition in transitions):
        ran = [call.get("arguments", {}) for call in command.get("calls") or ()]
        return replace(policy, validate=FormerCalls(policy.validate, ran))
    return policy


def _was_unknown(transition: Mapping[str, Any]) -> bool:
    """Whether a structured answer could not be judged. What cannot be read is refused by whoever reads all of it."""
    outcome = transition.get("outcome")
    evaluations = outcome.get("evaluations") if isinstance(outcome, Mapping) else ()
    listed = evaluations if isinstance(evaluations, list | tuple) else ()
    contexts = [said.get("context") for said in listed if isinstance(said, Mapping)]
    return any(isinstance(context, Mapping) and context.get("fault") == _UNKNOWN for context in contexts)


def _asks_again(transition: Mapping[str, Any]) -> bool:
    """Whether calls of a cut answer were found broken. One that a criterion forbade was judged as well."""
    return transition.get("trigger") == _BROKEN and transition.get("from") == _JUDGED
