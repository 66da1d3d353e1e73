"""A cap that the connection's Max output tokens bounds: no try is offered that the turn itself, or other turns, show to
be of no use."""

from collections.abc import Callable

import pytest
from django.test import Client

from dashboard.agents.models import Connection
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page, text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

FULL = "Max tokens per call cannot be raised: it is at Max output tokens of the connection (150)."
TOO_LOW = "Max tokens per call cannot be raised far enough: Max output tokens of the connection is 300."
PlayUnder = Callable[..., Turn]


@pytest.fixture
def under(play: Play, connection: Connection) -> PlayUnder:
    """A turn whose connection has a ceiling, with a cap of 100."""

    def run(ceiling: int, model: str, **limits: int) -> Turn:
        Connection.objects.update(max_output_tokens=ceiling)
        connection.refresh_from_db()
        return play(model, connection=connection, max_tokens=100, overrides={"limits": limits})

    return run


@pytest.mark.parametrize("limits", [{}, {"max_continuations": 1}])
def test_reasoning_that_used_up_the_ceiling_names_the_setting_of_the_connection_and_no_limit(
    under: PlayUnder, browser: Client, limits: dict[str, int]
):
    turn = under(150, "sim-reasons", **limits)
    for _ in range(2):
        assert suggestion_for(turn) is None
        panel = text_of(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
        sweep = text_of(page(browser, f"/turns/{turn.id}/replay/sweep"))
        row = browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode()
        assert browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"] is None
        for told in (panel, sweep):
            assert f"{FULL} Raise that setting of the connection, or change the prompt." in " ".join(told.split())
        assert "Find the limit" not in panel + row
        drive(turn_rerun(turn=turn, overrides={"max_tokens": 150}))


@pytest.mark.parametrize("others", [[340] * (LEAST + 10), [327, 340, 352]])
def test_no_value_is_tried_that_other_turns_show_to_be_too_small(under: PlayUnder, browser: Client, others: list[int]):
    turn = under(300, "sim-essay", max_continuations=0)
    first = suggestion_for(turn)
    assert first is not None
    assert (first.limit, first.value) == ("max_tokens", 300), "nothing tells of it yet"
    lengths(turn, others)
    said = suggestion_for(turn)
    assert said is not None
    assert said.limit == "max_continuations"
    panel = " ".join(text_of(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()).split())
    assert TOO_LOW in panel
    assert drive(turn_rerun(turn=turn, overrides=said.overrides)).status == "completed"


#: Answers of other turns, Max continuations, and the limit that is tried first: all calls may request 300 tokens each.
CONTINUED = {
    "one call holds it": ([220, 240, 250], 1, "max_tokens"),
    "two calls hold it": ([500, 520, 560], 1, "max_tokens"),
    "two calls are too few": ([700, 740, 790], 1, "max_continuations"),
    "three calls hold it": ([700, 740, 790], 2, "max_tokens"),
}


@pytest.mark.parametrize(("others", "continuations", "limit"), CONTINUED.values(), ids=CONTINUED)
def test_a_try_at_the_ceiling_is_offered_where_all_calls_that_are_allowed_hold_the_answer(
    under: PlayUnder, others: list[int], continuations: int, limit: str
):
    turn = under(300, "sim-endless", max_continuations=continuations)
    lengths(turn, others)
    said = suggestion_for(turn)
    assert said is not None
    assert said.limit == limit


def told(browser: Client, turn: Turn) -> dict[str, str]:
    """What panel, row, sweep and API say."""
    row = browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode()
    pages = {
        "panel": browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode(),
        "row": row,
        "sweep": page(browser, f"/turns/{turn.id}/replay/sweep"),
    }
    api = str(browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"])
    return {**{name: " ".join(text_of(html).split()) for name, html in pages.items()}, "api": api}


@pytest.mark.parametrize(("model", "cap"), [("sim-essay", 100), ("sim-reasons", 100), ("sim-empty", 100)])
@pytest.mark.parametrize("today", [400, None])
def test_advice_about_the_ceiling_goes_with_the_ceiling(
    under: PlayUnder, browser: Client, model: str, cap: int, today: int | None
):
    turn = under(cap, model, max_continuations=0)
    before = told(browser, turn)
    Connection.objects.update(max_output_tokens=today)
    after = told(browser, turn)
    full = "Max tokens per call cannot be raised: it is at Max output tokens of the connection (100)."
    assert model == "sim-empty" or full in before["panel"]
    assert full not in " ".join(after.values())
    said = suggestion_for(Turn.objects.get(pk=turn.pk))
    if model == "sim-empty":
        assert said is None
        return
    assert said is not None
    assert (said.limit, said.value) == ("max_tokens", 400)
    assert "400" in after["sweep"]
    assert after["row"].startswith("not known")
    assert "Max tokens per call was 100" in after["row"]
    for place in ("panel", "api"):
        assert "400" in after[place], place
