"""Who vouches for a recording is not made better by exporting, importing or re-running it."""

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify
from dashboard.turns.models import Turn
from dashboard.turns.origins import vouched_of
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import KnownKey
from tests.dashboard.driving import Play, drive
from tests.dashboard.ingest import exports
from tests.dashboard.ingest.turn_files.test_services import brought, changed, erase, exported, refused, signed

pytestmark = pytest.mark.django_db(transaction=True)


def by_of(turn: Turn) -> str:
    return vouched_of(Turn.objects.get(pk=turn.pk)).by


def again(turn: Turn) -> Turn:
    """Exported, erased, and imported from that file."""
    file = exported(turn)
    erase(turn)
    return brought(file, unverified=True).turn


def test_an_unsigned_file_stays_unsigned_after_any_number_of_exports(play: Play):
    honest = play("sim-essay")
    file = exported(honest)
    erase(honest)
    turn = brought(signed(file)).turn
    for _ in range(2):
        turn = again(turn)
        assert by_of(turn) == "unsigned"


def test_an_invalid_file_stays_invalid_and_never_verifies(play: Play):
    honest = play("sim-essay")
    file = exported(honest)
    erase(honest)
    file["notes"]["tags"] = ["forged"]
    turn = again(brought(file, unverified=True).turn)
    assert by_of(turn) == "broken"
    assert not turn_verify(turn=Turn.objects.get(pk=turn.pk)).verified


def test_doubts_recorded_before_export_are_kept_after_import(play: Play):
    honest = play("sim-essay")
    file = changed(exported(honest), "turn", "created_at", to="2020-01-01T00:00:00+00:00")
    erase(honest)
    doubted = brought(file, unverified=True)
    assert not doubted.verified
    file = exported(doubted.turn)
    erase(doubted.turn)
    assert "says that the turn did not verify there" in refused(file)["turn.records"][0]


def test_a_known_installation_vouches_only_for_what_it_verified(play: Play, monkeypatch: pytest.MonkeyPatch):
    honest = play("sim-essay")
    unsigned = signed(exported(honest))
    erase(honest)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, signing_key=keys.new_key()))
        imported_there = brought(unsigned).turn
        file = exported(imported_there)
        KnownKey.objects.create(public_key=file["signature"]["key"], name="the lab")
    erase(imported_there)
    assert by_of(brought(file).turn) == "unsigned"


def test_an_exported_trace_remains_its_senders_claim():
    exports.send(*exports.pieces_of(["logfire-pydanticai-cuttool"]))
    turn = Turn.objects.order_by("started_at")[0]
    for _ in range(2):
        turn = again(turn)
        assert by_of(turn) == "sender"


def test_the_start_of_a_fork_is_trusted_no_more_than_its_parent(play: Play, browser: Any):
    honest = play("sim-tools", tools=["calculator"])
    own = drive(turn_rerun(turn=honest, overrides={}, from_record=1))
    assert by_of(own) == "here"
    file = signed(exported(honest))
    erase(own)
    erase(honest)
    fork = drive(turn_rerun(turn=brought(file).turn, overrides={}, from_record=1))
    html = browser.get(f"/turns/{fork.id}").content.decode()
    assert (by_of(fork), "origin not proven" in html) == ("unsigned", True)
    assert by_of(again(fork)) == "unsigned"


def test_the_start_of_a_fork_of_a_deleted_turn_is_not_vouched_for(play: Play):
    honest = play("sim-tools", tools=["calculator"])
    fork = drive(turn_rerun(turn=honest, overrides={}, from_record=1))
    Turn.objects.filter(pk=fork.pk).update(parent=None)
    assert by_of(fork) == "unsigned"
