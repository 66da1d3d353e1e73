"""The row of a chain says what its seal says; and what a check finds while seals are made is no fault."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.turns.models import Turn
from dashboard.turns.seals import chain_check, seal_check
from dashboard.turns.seals.models import Chain
from dashboard.turns.seals.seal_check import check_all, turn_faults
from dashboard.turns.seals.services import chain_some
from tests.dashboard.driving import Play

from .forging import as_superuser, faults, seal

pytestmark = pytest.mark.django_db(transaction=True)

CHANGES = {
    "seal = 7": "Its chain names seal 7, but seal 1 contains it.",
    "seal = NULL": "Its chain names no seal, but seal 1 contains it.",
    "chained_at = chained_at - interval '1 microsecond'": "The time at which it was chained was changed.",
    "parts = parts || '\\x00'": "Its chain was changed.",
    "parts = parts || parts": "Its chain was changed.",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_chain_is_named(play: Play, change: str):
    turn = play("sim-essay")
    seal()
    as_superuser(f"UPDATE sealing_chain SET {change} WHERE turn_id = %s", turn.id)
    assert CHANGES[change] in faults()[str(turn.id)]


def test_a_chain_of_an_earlier_release_has_no_time_and_cannot_claim_one_after_its_seal(play: Play, monkeypatch: Any):
    turn = play("sim-essay")
    with monkeypatch.context() as earlier:
        earlier.setattr(chain_check, "moment_part", lambda _: None)
        earlier.setattr("dashboard.turns.seals.services.moment_part", lambda _: None)
        earlier.setattr("dashboard.turns.seals.services.packed", lambda parts: packed_without(parts))
        earlier.setattr("dashboard.turns.seals.services.head_of", lambda of, parts: head_without(of, parts))
        seal()
    assert faults() == {}
    as_superuser("UPDATE sealing_chain SET chained_at = chained_at + interval '20 seconds' WHERE turn_id = %s", turn.id)
    assert faults() == {}, "some dated their seals to the start of the sweep in which the chains were made"
    as_superuser("UPDATE sealing_chain SET chained_at = chained_at + interval '1 hour' WHERE turn_id = %s", turn.id)
    assert faults() == {str(turn.id): "Its chain has a time after that of seal 1, which contains it."}


def packed_without(parts: list[Any]) -> bytes:
    return chain_check.packed(part for part in parts if part)


def head_without(turn_id: Any, parts: list[Any]) -> bytes:
    return chain_check.head_of(turn_id, [part for part in parts if part])


def test_a_chain_without_a_turn_is_named(play: Play):
    turn = play("sim-essay")
    seal()
    stray = Chain.objects.create(turn_id=turn.project_id, parts=b"", head=b"", chained_at=timezone.now() - timedelta(1))
    assert faults() == {str(stray.turn_id): "It has a chain, and is not stored."}


def test_a_seal_made_during_a_check_is_no_fault(play: Play, monkeypatch: Any):
    monkeypatch.setattr(seal_check, "BATCH", 1)
    first, second = play("sim-essay"), play("sim-script")
    checked = check_all(on_batch=lambda _checked, last: seal() if last == first.id else None)
    assert checked.faults == []
    assert Chain.objects.get(turn_id=second.id).seal == 1


def test_a_seal_made_while_one_turn_is_checked_is_no_fault(play: Play, monkeypatch: Any):
    turn = play("sim-essay")
    chain_some()
    earliest = seal_check._earliest

    def seal_during_check(of: Turn) -> Any:
        seal()
        return earliest(of)

    monkeypatch.setattr(seal_check, "_earliest", seal_during_check)
    assert turn_faults(turn) == []
    assert Chain.objects.get(turn_id=turn.id).seal == 1
