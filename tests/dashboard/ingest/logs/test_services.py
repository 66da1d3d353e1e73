"""Logs become turns: once, whatever stands between them, and each with what its record says and no more."""

import pytest

from dashboard.ingest.logs import server_import
from dashboard.replay.services import turn_verify
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.origins import vouched_of
from dashboard.turns.verification import raws_of
from tests.dashboard.ingest.logs import test_pairs as pairs
from tests.dashboard.ingest.logs.samples import FILES
from tests.dashboard.ingest.logs.writing import AT, anthropic_answer, chat_answer, chat_request, imported, lines

pytestmark = pytest.mark.django_db

PAIR = {"request": chat_request(), "response": chat_answer(), "timestamp": AT}


def test_a_pair_becomes_a_turn_with_the_stop_reason_of_its_codec() -> None:
    taken, faults = imported(lines(PAIR))
    assert (taken.turns, faults) == (1, [])
    turn = Turn.objects.get()
    assert (turn.status, turn.model_stop_reason, turn.raw_stop_reason) == ("partial", "max_tokens", "length")
    assert (turn.output_text, turn.input_text, turn.max_tokens) == ("Once upon", "Tell me a story.", 16)
    assert turn.created_at.isoformat() == "2026-03-01T10:00:00+00:00"
    assert turn_verify(turn=turn).verified, turn.verdict
    assert vouched_of(turn).words == "The recording is based on an imported log; it was not verified."
    assert turn.ingested.log == "log.jsonl"


def test_an_answer_that_broke_off_has_its_error_and_verifies() -> None:
    imported(lines({**PAIR, "response": pairs.SSE.partition("data: [DONE]")[0].rpartition("data:")[0]}))
    assert Attempt.objects.get().error["kind"] == "incomplete_stream"
    turn = Turn.objects.get()
    assert turn_verify(turn=turn).verified, turn.verdict


def test_the_original_bytes_of_the_answer_are_kept_and_compared() -> None:
    imported(lines(PAIR))
    (raw,) = raws_of(Turn.objects.get().id).values()
    assert b'"finish_reason":"length"' in raw.raw


def test_importing_the_same_file_twice_writes_nothing_the_second_time() -> None:
    content = lines(PAIR, {**PAIR, "id": "other"})
    assert imported(content)[0].turns == 2
    taken, _ = imported(content, name="copy.jsonl")
    assert (taken.turns, taken.here, Turn.objects.count()) == (0, 2, 2)


def test_an_interrupted_import_continues_with_the_missing_records() -> None:
    records = [{**PAIR, "id": f"call {n}"} for n in range(200)]
    imported(lines(*records[:130]))
    taken, _ = imported(lines(*records))
    assert (taken.turns, taken.here) == (70, 130)


def test_a_dry_run_reports_what_would_be_imported_and_stores_nothing() -> None:
    imported(lines(PAIR))
    taken, _ = imported(lines(PAIR, {**PAIR, "id": "new"}), dry=True)
    assert (taken.turns, taken.here, Turn.objects.count()) == (1, 1, 1)


def test_an_invalid_line_is_reported_by_number_and_the_rest_is_imported() -> None:
    content = lines(PAIR) + b'{"request": \n\n' + lines([1], {"hello": 1}, {**PAIR, "id": "after"})
    taken, faults = imported(content)
    assert taken.turns == 2
    assert [(fault.line, fault.words.partition(":")[0]) for fault in faults] == [
        (2, "It is not JSON"),
        (4, "It is not a JSON object."),
        (5, "The record is not a request with its answer in a supported format."),
    ]


def test_data_missing_from_the_log_is_reported_and_not_guessed() -> None:
    answer = anthropic_answer()
    imported(lines({"response": {**answer, "usage": None, "stop_reason": None}}))
    turn = Turn.objects.get()
    codes = {note["code"] for note in turn.ingested.notes}
    assert {
        "input_unknown",
        "reason_unknown",
        "usage_unknown",
        "cap_unknown",
        "time_unknown",
        "duration_unknown",
    } <= codes
    assert Attempt.objects.get().duration_ms is None
    assert not any("trace" in note["words"] for note in turn.ingested.notes)


def test_only_the_record_refused_by_the_database_is_skipped() -> None:
    bad = {
        **PAIR,
        "id": "bad",
        "request": chat_request(model="x" * 600, messages=[{"role": "user", "content": "\0\ud800"}]),
    }
    taken, faults = imported(lines(PAIR, bad, {**PAIR, "id": "after"}))
    assert taken.turns + len(faults) == 3
    assert taken.turns >= 2


def test_a_log_is_read_once_for_its_format_and_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    read, files = server_import.read, []
    monkeypatch.setattr(server_import, "read", lambda file, **given: files.append(file) or read(file, **given))
    found = server_import.log_found(b"nonsense\n" + FILES["claude"], is_sure=False)
    told = server_import.log_told(found, "log", by=None, dry=True)
    assert (told["turns"], told["refused"], told["faults"][0][0], len(files)) == (2, 1, 1, 1)
    assert server_import.log_found(b"x\n" * 20_000 + FILES["claude"], is_sure=False) is None
