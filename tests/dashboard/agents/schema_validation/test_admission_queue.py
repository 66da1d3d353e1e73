"""Who waits for a judge is passed by nobody."""

import threading
import time

import pytest

from dashboard.agents.schema_validation import admission_queue
from dashboard.agents.schema_validation.admission_queue import Places
from dashboard.agents.schema_validation.judge_overload import JudgesBusy


def waiting(places: Places, name: str, order: list[str]) -> threading.Thread:
    """A thread that is in the line when this returns."""

    def wait() -> None:
        with places.place():
            order.append(name)

    before = len(places._line)
    thread = threading.Thread(target=wait)
    thread.start()
    while len(places._line) == before:
        time.sleep(0.001)
    return thread


def test_the_next_slot_goes_to_the_longest_waiting_caller():
    places, order = Places(1), list[str]()
    with places.place():
        threads = [waiting(places, name, order) for name in ("first", "second", "third")]
    with places.place():
        order.append("who comes by")
    for thread in threads:
        thread.join()
    assert order == ["first", "second", "third", "who comes by"]


def test_a_caller_that_waits_too_long_is_told_so_and_leaves_the_queue(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(admission_queue, "WAITING_SECONDS", 0.01)
    places = Places(1)
    with places.place(), pytest.raises(JudgesBusy), places.place():
        pass
    with places.place():
        assert not places._line


def test_the_number_of_slots_is_limited():
    places = Places(2)
    with places.place(), places.place():
        assert places._free == 0
    assert places._free == 2
