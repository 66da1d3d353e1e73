"""Copies of frozen values are the ones `dataclasses.replace` makes."""

import dataclasses

import pytest

from agentcore.commands import Hold, Wait
from agentcore.machine.snapshot import Call, Snapshot, Spent
from agentcore.machine.states import State
from agentcore.messages import ChatResponse
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind
from agentcore.values import replace


def test_a_copy_has_the_change_and_all_else():
    old = Snapshot(spent=Spent(attempts=2), at=1.5)
    new = replace(old, state=State.REQUEST)
    assert new == dataclasses.replace(old, state=State.REQUEST)
    assert old.state is State.IDLE


def test_a_copy_is_frozen_too():
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(Spent(), attempts=1).attempts = 2  # type: ignore[misc]


def test_a_field_that_is_not_there_is_refused():
    with pytest.raises(TypeError, match="Spent has no field 'tries'"):
        replace(Spent(), tries=1)  # type: ignore[call-arg]


def test_every_kind_of_value_is_copied_as_dataclasses_does():
    for value in (Call(AttemptKind.INITIAL, State.REQUEST, 60), Wait(1.0), Hold(), ChatResponse("a"), Policy()):
        assert replace(value) == value
        assert type(replace(value)) is type(value)


def test_no_value_of_the_core_has_work_to_do_after_its_making():
    """A copy does not call `__post_init__`."""
    import agentcore.messages
    import agentcore.policy
    from agentcore import commands, events
    from agentcore.machine import snapshot

    modules = (agentcore.messages, agentcore.policy, commands, events, snapshot)
    classes = [value for module in modules for value in vars(module).values() if dataclasses.is_dataclass(value)]
    assert classes
    assert not [cls for cls in classes if hasattr(cls, "__post_init__")]
