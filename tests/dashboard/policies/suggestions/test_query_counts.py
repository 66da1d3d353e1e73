"""What is read of a turn and of its re-runs is read once for all that is said of its limit."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.policies.suggestions.panel import panel_of
from dashboard.policies.suggestions.selectors import suggestion_for, suggestions_for
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from dashboard.turns.read_ahead import once, reading_ahead, reading_once
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX

pytestmark = pytest.mark.django_db(transaction=True)

#: By address, the most statements of its page or answer, with the three of the session, its user and the projects.
MOST = {
    "/turns/{}/limit": 20,
    "/turns/{}": 31,
    "/turns/{}/replay": 19,
    "/turns/{}/replay?max_tokens=400": 19,
    "/turns/{}/replay/sweep?limit=max_tokens": 22,
    "/api/v1/turns/{}": 16,
    "/api/v1/turns/{}/verdict": 17,
    "/turns/limits?turn={}": 21,
}
#: What finds the limit, and the most statements that it takes with re-runs.
FOUND = {suggestion_for: 11, suggestions_for: 11, panel_of: 14}


def queries_of(asked: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as counted:
        asked()
    return len(counted)


def test_a_limit_takes_as_few_statements_for_three_re_runs_as_for_one(browser: Client, play: Play):
    cut = play("sim-essay", max_tokens=60)
    counted = []
    for values in ((900,), (500, 90)):
        for value in values:
            drive(turn_rerun(turn=cut, overrides={"max_tokens": value}))
        turn = Turn.objects.select_related("agent__connection", "project").get(pk=cut.pk)
        counted.append([queries_of(lambda found=found, it=turn: found(it)) for found in FOUND])
        for address, most in MOST.items():
            address = address.format(cut.id)
            browser.get(address, headers=HTMX)  # what is kept for a minute is read by the first
            assert queries_of(lambda to=address: browser.get(to, headers=HTMX)) <= most, address
    assert counted[0] == counted[1]
    assert all(number <= most for number, most in zip(counted[0], FOUND.values(), strict=True))


def test_what_was_read_stays_known_within_a_block_inside_another_and_is_forgotten_with_the_outer_one():
    read = []

    def asked() -> int:
        return once("question", lambda: read.append(1) or len(read))

    for block in (reading_once, reading_ahead):
        read.clear()
        with block():
            with reading_once():
                assert asked() == 1
            assert asked() == 1
        with reading_once():
            assert asked() == 2
    assert [asked(), asked()] == [3, 4]
