from dataclasses import replace

import pytest
from django.template.loader import render_to_string
from django.test import Client

from agentcore import VERSION
from agentcore.replay import Record
from dashboard.replay.divergence_text import parting_words
from dashboard.turns import verification
from dashboard.turns.history import recording_of
from dashboard.turns.verification import examined, forget, is_verified, missing_records, proof_of
from tests.agentcore.playbook import ended
from tests.dashboard.driving import Play
from tests.dashboard.pages import page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_ended_turn_is_verified_once(play: Play, monkeypatch: pytest.MonkeyPatch):
    turn = play("sim-essay", max_tokens=60)
    recording = recording_of(turn)
    asked: list[int] = []
    judge = verification.verify
    monkeypatch.setattr(verification, "verify", lambda given: (asked.append(1), judge(given))[1])
    assert [is_verified(turn, recording) for _ in range(3)] == [True] * 3
    assert len(asked) == 1
    forget(turn)
    is_verified(turn, recording)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("gone", "words"), [([3], "record 3 of {} is missing"), ([3, 4], "records 3 to 4 of {} are missing")]
)
def test_a_turn_with_missing_records_names_them(play: Play, gone: list[int], words: str):
    turn = play("sim-essay", max_tokens=60)
    recording = recording_of(turn)
    left = replace(recording, records=tuple(record for record in recording.records if record.seq not in gone))
    found, said = examined(turn, left), words.format(turn.last_seq)
    assert (found.verified, found.divergence and found.divergence.seq) == (False, gone[0])
    assert parting_words(found.divergence) == said
    assert not proof_of(turn, left).verified
    shown = {"verified": False, "missing_records": said, "turn": turn}
    assert f"Replay differs: {said}" in text_of(render_to_string("turns/_verification.html", shown))


def test_the_records_before_a_missing_one_are_verified(play: Play):
    turn = play("sim-essay", max_tokens=60)
    first, second, _, *rest = recording_of(turn).records
    other = replace(second, command={"type": "hold"})
    found = examined(turn, replace(recording_of(turn), records=(first, other, *rest)))
    assert (found.records, found.divergence and found.divergence.seq) == (1, 2), "not the one that is missing"


def test_a_row_that_claims_far_too_many_records_costs_nothing(play: Play):
    turn = play("sim-essay", max_tokens=60)
    last, turn.last_seq = turn.last_seq, 2_000_000_000
    said = f"records {last + 1} to 2,000,000,000 of 2,000,000,000 are missing"
    lacking = missing_records(recording_of(turn).records, turn.last_seq)
    assert lacking is not None
    assert lacking.words == said


def test_missing_records_are_searched_once_per_verification(play: Play, monkeypatch: pytest.MonkeyPatch):
    turn, asked = play("sim-essay", max_tokens=60), list[int]()
    look = verification.missing_records
    monkeypatch.setattr(verification, "missing_records", lambda *given: (asked.append(1), look(*given))[1])
    recording = recording_of(turn)
    assert not proof_of(turn, replace(recording, records=recording.records[:2])).verified
    assert len(asked) == 1


def test_another_version_of_the_core_verifies_again(play: Play, monkeypatch: pytest.MonkeyPatch):
    turn = play("sim-essay")
    recording = recording_of(turn)
    assert is_verified(turn, recording)
    monkeypatch.setattr(verification, "VERSION", "another")
    monkeypatch.setattr(verification, "verify", lambda _: type("No", (), {"verified": False}))
    assert not is_verified(turn, recording)


def test_a_divergence_between_two_cores_names_both_versions(
    play: Play, browser: Client, monkeypatch: pytest.MonkeyPatch
):
    turn = play("sim-essay")
    assert "verified by core" not in page(browser, f"/turns/{turn.id}")
    monkeypatch.setattr(verification, "VERSION", "99")
    monkeypatch.setattr(verification, "verify", lambda _: type("No", (), {"verified": False}))
    assert f"Evaluated by core version {VERSION}, verified by 99." in page(browser, f"/turns/{turn.id}")


def records(*seqs: int) -> list[Record]:
    return [Record(seq, ended("done"), (), {}) for seq in seqs]


@pytest.mark.parametrize(
    ("seqs", "last", "first", "words"),
    [
        ([1, 2, 4], 4, 3, "record 3 of 4 is missing"),
        ([2], 2, 1, "record 1 of 2 is missing"),
        ([1, 5], 5, 2, "records 2 to 4 of 5 are missing"),
        ([1, 3, 5], 6, 2, "records 2, 4, 6 of 6 are missing"),
        ([2, 4, 6], 8, 1, "records 1, 3, 5 … of 8 are missing"),
        ([], 2, 1, "records 1 to 2 of 2 are missing"),
        ([1], 2_000_000_000, 2, "records 2 to 2,000,000,000 of 2,000,000,000 are missing"),
        ([1, 2_000_000_000], 1, 2, "records 2 to 1,999,999,999 of 2,000,000,000 are missing"),
    ],
)
def test_ranges_of_missing_records_are_shown_by_their_ends(seqs: list[int], last: int, first: int, words: str):
    found = missing_records(records(*seqs), last)
    assert found is not None
    assert (found.first, found.words) == (first, words)


@pytest.mark.parametrize(("seqs", "last"), [([], 0), ([1, 2], 2), ([1, 2, 2, 3], 3)])
def test_a_complete_history_lacks_nothing(seqs: list[int], last: int):
    assert missing_records(records(*seqs), last) is None
