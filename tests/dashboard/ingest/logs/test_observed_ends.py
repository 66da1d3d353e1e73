"""How imported calls end that their program did not continue: every page names no limit that the log does not have."""

import re
from typing import Any

import pytest
from django.test import Client

from dashboard.replay.services import turn_verify
from dashboard.turns.end_summary import end_summary_now, end_summary_of
from dashboard.turns.models import Turn
from tests.dashboard.ingest.logs.writing import anthropic_answer, chat_answer, chat_request, imported, lines
from tests.dashboard.pages import HTMX, compact, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

PAUSED = {
    "request": {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": [{"role": "user", "content": "Search."}]},
    "response": anthropic_answer("I look.", "pause_turn"),
}
#: What a policy says of limits, and no log does.
INVENTED = re.compile(
    r"\d[\d,]* (?:of|/) 2,000|0 / 0|0 continuations|recorded: (?:stop|0|20|2,000) |1,000,000,000|ended this turn"
    r"|max_continuations\) is \d"
)


def words(html: str) -> str:
    return " ".join(text_of(html).split())


def words_in(node: dict[str, Any]) -> list[str]:
    """The sentences of a derivation. Its facts quote the stored reason, which is the one that verifies."""
    return [node["words"], *(each for child in node["because"] for each in words_in(child))]


def surfaces(browser: Client, turn: Turn) -> dict[str, Any]:
    """What page, panel, row and API say."""
    api = browser.get(f"/api/v1/turns/{turn.id}").json()
    return {
        "page": words(page(browser, f"/turns/{turn.id}")),
        "panel": words(compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())),
        "row": words(compact(browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode())),
        "why": " / ".join(words_in(browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["tree"])),
        "verdict": api["verdict"],
        "suggestion": api["suggestion"],
    }


def invented_in(said: dict[str, Any]) -> dict[str, list[str]]:
    found = {name: INVENTED.findall(str(text)) for name, text in said.items()}
    return {name: each for name, each in found.items() if each}


def test_an_imported_pause_is_told_as_its_program_left_it(browser: Client):
    imported(lines(PAUSED))
    turn = Turn.objects.get()
    assert turn.verdict == (
        "Stopped after the answer was paused by the provider; the program that made the call did not continue it. 16 "
        "completion tokens used. To continue, the program sends the answer back unchanged in another call."
    )
    assert (turn.resource, end_summary_of(turn).detail) == (None, "Paused by the provider")
    said = surfaces(browser, turn)
    assert said["suggestion"] is None
    assert "sends the answer back unchanged" in said["panel"]
    assert not invented_in(said)
    assert "Max continuations" not in page(browser, "/policies/ledger")
    replay = words(page(browser, f"/turns/{turn.id}/replay"))
    assert not invented_in({"replay": replay})
    assert "max_continuations, not recorded" in replay
    assert "recorded: 500 tokens per call" in replay
    assert turn_verify(turn=turn).verified


def test_an_import_of_an_earlier_version_is_told_as_this_one_tells_it(browser: Client):
    imported(lines(PAUSED))
    written = "Stopped after the answer was paused by the provider. 16 of 2,000 completion tokens used."
    Turn.objects.update(core_version="16", resource="max_continuations", verdict=written)
    turn = Turn.objects.get()
    assert end_summary_now(turn).detail == "Paused by the provider"
    assert browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["resource"] is None
    assert not invented_in(surfaces(browser, turn))
    assert turn_verify(turn=turn).verified


def test_an_imported_cut_without_its_request_names_no_limit_as_the_cause(browser: Client):
    request = chat_request()
    del request["max_tokens"]
    imported(lines({"messages": request["messages"], "model": "gpt-4o", "response": chat_answer(tokens=64)}))
    turn = Turn.objects.get()
    assert turn.verdict == (
        "Cut off by a token limit that is not recorded, with 64 tokens reported; this call was only observed. Max "
        "tokens per call (max_tokens) of the request was not recorded, so which limit cut the answer is not known."
    )
    assert (turn.resource, end_summary_of(turn).detail) == (None, "Token limit not recorded")
    said = surfaces(browser, turn)
    assert said["suggestion"]["limit"] == "max_tokens"
    assert "was not recorded" in said["panel"]
    assert not invented_in(said)
    assert turn_verify(turn=turn).verified
