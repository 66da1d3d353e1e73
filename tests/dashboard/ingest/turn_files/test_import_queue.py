"""An import that waited in vain is told when those before it will have ended."""

import pytest

from dashboard.ingest.turn_files.import_queue import ImportBusyError, ImportPace, is_import


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("dashboard.ingest.turn_files.import_queue.time.monotonic", lambda: now[0])
    return now


def test_the_wait_is_the_time_that_the_imports_ahead_usually_take(clock: list[float]):
    pace = ImportPace()
    pace.took(4.0)
    assert pace.left(1, now=0.0) == 4
    assert pace.left(36, now=0.0) == 144


def test_the_elapsed_time_of_the_running_import_is_subtracted(clock: list[float]):
    pace = ImportPace()
    pace.took(20.0)
    with pace.running():
        assert pace.left(2, now=115.0) == 25
    assert pace.left(2, now=115.0) > 25


def test_an_import_that_takes_longer_than_usual_is_expected_to_take_as_long_again(clock: list[float]):
    pace = ImportPace()
    pace.took(2.0)
    with pace.running():
        assert pace.left(1, now=150.0) == 50


def test_the_usual_duration_follows_the_latest_imports(clock: list[float]):
    pace = ImportPace()
    for _ in range(30):
        pace.took(60.0)
    for _ in range(30):
        pace.took(1.0)
    assert pace.left(1, now=0.0) <= 2


def test_the_first_estimate_of_an_import_is_half_a_minute(clock: list[float]):
    assert ImportPace().left(1, now=0.0) == 30


@pytest.mark.parametrize(("took", "ahead", "wait"), [(0.01, 1, 1), (0.0, 0, 1), (200.0, 32, 900)])
def test_retry_times_stay_between_a_second_and_fifteen_minutes(took: float, ahead: int, wait: int):
    pace = ImportPace()
    pace.took(took)
    assert pace.left(ahead, now=0.0) == wait


@pytest.mark.parametrize(("wait", "words"), [(12, "in about 12 s."), (90, "in about 1 min 30 s.")])
def test_the_sentence_gives_the_time_of_the_header(wait: int, words: str):
    assert str(ImportBusyError(wait)).endswith(words)


def test_only_a_request_that_brings_a_file_is_an_import():
    assert is_import("POST", "/api/v1/logs/import")
    assert not is_import("GET", "/import")
