"""Whatever tells how a turn ended, or would have ended, tells the same: pages, API, map, backtest and terminal.

The provider is this test's own: its answers are words by number, and it says what the model's name asks for.
"""

import json
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from aiohttp import web
from django.core.management import call_command
from django.test import Client

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create
from dashboard.client.narration import TurnNarration
from dashboard.exports.share_links.services import link_create
from dashboard.live.services import turn_start
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.backtests.sweep_map import cell_of, experience_with, sample_of
from dashboard.runtime.management.commands.ask import AsLines
from dashboard.runtime.management.commands.backtest import lines_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.reason_looks import reason_label
from tests.dashboard.driving import drive
from tests.dashboard.pages import HTMX, text_of
from tests.dashboard.serving import provider_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]

#: By name: what the provider does, as `words:flags`, the cap, and what the turn is allowed.
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "whole": ("40", 400, {}),
    "whole at once": ("40", 60, {}),
    "continued": ("200", 60, {}),
    "continued once": ("100", 60, {}),
    "never whole": ("900", 60, {}),
    "one continuation allowed": ("300", 60, {"limits": {"max_continuations": 1}}),
    "none allowed": ("300", 60, {"limits": {"max_continuations": 0}}),
    "total": ("300", 60, {"limits": {"max_total_completion_tokens": 150}}),
    "all tokens": ("300", 60, {"limits": {"max_total_tokens": 200}}),
    "characters": ("300", 400, {"limits": {"max_total_output_chars": 500}}),
    "uncounted": ("200:uncounted", 60, {}),
    "uncounted, cut": ("900:uncounted", 60, {}),
    "reasoned": ("40:reason=30", 60, {}),
    "reasoned, cut": ("200:reason=40", 60, {}),
    "reasoned alone": ("200:reason=60", 60, {}),
    "blocked": ("40:filter", 60, {}),
    "empty": ("0", 60, {}),
    "repeats": ("200:repeats", 60, {}),
    "window": ("200:window=30", 60, {}),
    "no key": ("40:status=401", 60, {}),
    "no model": ("40:status=404", 60, {}),
    "busy once": ("40:status=503@1", 60, {}),
    "busy, no retries": ("40:status=503@1", 60, {"error_policy": {"preset": "stop_on_any_error"}}),
    "busy after a cut": ("200:status=500@2", 60, {"error_policy": {"preset": "stop_on_any_error"}}),
    "failing": ("40:status=400", 60, {}),
    "no choices": ("40:nothing", 60, {}),
    "odd end": ("40:odd", 60, {}),
    "again and again": ("200:again", 60, {}),
    "small": ("30", 10, {}),
    "at the cap": ("60", 60, {}),
}
LIMITS = [(0, 30), (0, 120), (3, 40), (3, 60), (3, 500), (8, 60)]
EVERYTHING = TimelineFilters()


class Upstream:
    """Word n is `w<n>`, a token each; it goes on after the last word that it is shown."""

    def __init__(self) -> None:
        self.asked = dict[str, int]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        name = body["model"]
        words, _, flags = name.partition(":")
        said = dict((flag.partition("=")[::2]) for flag in flags.split(",") if flag)
        calls = self.asked[name] = self.asked.get(name, 0) + 1
        if "status" in said:
            status, _, only = said["status"].partition("@")
            if not only or int(only) == calls:
                return web.json_response({"error": {"message": "no", "type": "x"}}, status=int(status))
        if "nothing" in said:
            return web.json_response({"choices": []})
        return web.json_response(self._completion(body, int(words), said))

    def _completion(self, body: dict[str, Any], words: int, said: dict[str, str]) -> dict[str, Any]:
        shown = " ".join(str(each["content"]) for each in body["messages"] if each["role"] == "assistant")
        places = [int(place) for place in re.findall(r"w(\d+)\b", shown)]
        first = 0 if "again" in said else max(places, default=-1) + 1
        first = max(0, first - 5) if "repeats" in said and places else first
        reason = int(said.get("reason", 0))
        cap = body.get("max_tokens") or body.get("max_completion_tokens") or 10_000
        room = max(0, min(cap, int(said.get("window", cap))) - reason)
        given = list(range(first, min(words, first + room)))
        is_cut = first + room < words
        text = ("" if not places or "again" in said else " ") + " ".join(f"w{place}" for place in given)
        reasons = {"filter": "content_filter", "odd": "because"}
        end = next((word for flag, word in reasons.items() if flag in said), "length" if is_cut else "stop")
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": end}
        usage = {
            "prompt_tokens": 5,
            "completion_tokens": len(given) + reason,
            "completion_tokens_details": {"reasoning_tokens": reason},
        }
        told = {} if "uncounted" in said else {"usage": usage}
        return {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            **told,
        }


@pytest.fixture
def address() -> Iterator[str]:
    with provider_of(Upstream().answer) as found:
        yield found


def played(address: str, name: str) -> Turn:
    model, cap, overrides = CASES[name]
    connection = connection_create(project=project_default(), name="own", provider="openai", base_url=f"{address}/v1")
    agent = agent_create(project=connection.project, connection=connection, name="asked", model=model, max_tokens=cap)
    return drive(turn_start(agent=agent, input_text="Say the words.", overrides=overrides))


def words(text: str) -> str:
    return " ".join(text_of(text).split())


def happened(verdict: str) -> str:
    """A verdict without what would have helped."""
    return re.sub(r" (?:With|Higher limits|A higher) .*", "", verdict)


def shared(turn: Turn) -> str:
    token = link_create(turn=turn, lifetime="1d", redacted=False, by=User.objects.get(username=OPERATOR))[1]
    return words(Client().get(f"/share/{token}").content.decode())


@pytest.mark.parametrize("name", CASES)
def test_every_surface_describes_a_turn_the_same_way(browser: Client, address: str, name: str):
    turn = played(address, name)
    faults = [*of_verdict(browser, turn), *of_number(browser, turn)]
    for continuations, cap in LIMITS:
        faults += of_limits(browser, turn, continuations, cap, plain=not CASES[name][2])
    assert faults == [], (turn.status, turn.verdict)


def of_verdict(browser: Client, turn: Turn) -> Iterator[str]:
    told = browser.get(f"/api/v1/turns/{turn.id}").json()
    why = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()
    asked, client = StringIO(), StringIO()
    AsLines(asked).ended(turn)
    narration = TurnNarration(client)
    narration.why(line["text"] if isinstance(line, dict) else line for line in why.get("lines", ()))
    narration.over(told)
    places = {
        "API's verdict": why["verdict"],
        "API's turn": told["verdict"],
        "ask": asked.getvalue(),
        "client": client.getvalue(),
        "page": words(browser.get(f"/turns/{turn.id}").content.decode()),
        "shared page": shared(turn),
    }
    for place, text in places.items():
        said = happened(turn.verdict) if "page" in place else turn.verdict  # a panel of its own says what helps
        if " ".join(said.split()) not in " ".join(text.split()):
            yield f"{place} does not say {said!r}: {text[:700]!r}"


def of_number(browser: Client, turn: Turn) -> Iterator[str]:
    """The value, how certain it is, and the sentence. Of a value to begin with all say that none is known."""
    told = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    panel = browser.get(f"/turns/{turn.id}").content.decode().split('id="limit"')[1].split("</section>")[0]
    cell = browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode()
    found = [re.findall(r'data-certainty="(\w+)"', html)[:1] for html in (panel, cell)]
    if told is None:
        if found != [[], []]:
            yield f"API has no number; page and cell {found}"
        return
    if found != [[told["certainty"]]] * 2:
        yield f"API {told['certainty']}; page and cell {found}"
    written = StringIO()
    call_command("replay", str(turn.id), stdout=written)
    number = f"{told['value']:,}" if told["basis"] != "none" else "not known"
    sentence = told["words"].partition(". ")[0]
    if told["basis"] != "none" and sentence not in shared(turn):
        yield f"shared page lacks {sentence!r}"
    for place, text in {"page": words(panel), "cell": words(cell), "terminal": written.getvalue()}.items():
        if number not in text or (place != "cell" and sentence not in text):
            yield f"{place} lacks {number}, or {sentence!r}: {text!r}"


def of_limits(browser: Client, turn: Turn, continuations: int, cap: int, *, plain: bool) -> Iterator[str]:
    limits = {"max_continuations": continuations, "max_total_completion_tokens": (continuations + 1) * cap}
    at = f"{continuations} x {cap}: "
    asked = {"mode": "what_if", "overrides": {"max_tokens": cap, "limits": limits}}
    answer = browser.post(f"/api/v1/turns/{turn.id}/replay", json.dumps(asked), content_type="application/json")
    imagined = answer.json()
    if answer.status_code != 200:
        yield f"{at}API {answer.status_code}: {imagined}"
        return
    (seen,) = cell_of(
        sample_of(project=turn.project, filters=EVERYTHING), continuations, cap, experience_with(turn.project)
    ).ended
    status = "" if imagined["undecidable"] else imagined["status"]
    if (seen.certainty, seen.status) != (imagined["certainty"], status):
        yield f"{at}cell {seen.certainty, seen.status}, API {imagined['certainty'], status, imagined['why']}"
    given = {"max_tokens": cap, **limits}
    written = StringIO()
    call_command("replay", str(turn.id), stdout=written, **given)
    html = browser.get(f"/turns/{turn.id}/replay", given).content.decode().split('id="what-if"')[-1]
    shown = words(html)
    for place, text in {"terminal": " ".join(written.getvalue().split()), "page": shown}.items():
        for ending in imagined["endings"]:
            calls = f"in {ending['attempts']} call"
            if calls not in text and f"after {ending['attempts']} call" not in text:
                yield f"{at}{place} lacks {calls}, {ending['verdict']!r}: {text[:700]!r}"
        said = happened(imagined["verdict"])
        if not imagined["undecidable"] and " ".join(said.split()) not in text:
            yield f"{at}{place} lacks {imagined['certainty']} {said!r}: {text[:700]!r}"
        certainty = reason_label(imagined["certainty"])
        if certainty not in text.lower():
            yield f"{at}{place} lacks {certainty}"
    if plain:
        yield from of_backtest(turn, limits, cap, imagined, at)


def of_backtest(turn: Turn, limits: dict[str, int], cap: int, imagined: dict[str, Any], at: str) -> Iterator[str]:
    made = backtest_create(project=turn.project, policy={"limits": limits}, filter={}, max_tokens=cap)
    runner.run(made.pk)
    made.refresh_from_db()
    (group,) = made.groups
    counted = [word for word in ("recorded", "certain", "estimated", "undecidable") if group[word]]
    if counted != [imagined["certainty"]]:
        yield f"{at}backtest {counted}, API {imagined['certainty']}"
    if [each["why"] for each in made.undecided] != ([imagined["why"]] if imagined["undecidable"] else []):
        yield f"{at}backtest {made.undecided}, API {imagined['why']}"
    ends = imagined["terminal_reason"]
    if made.flips and not imagined["undecidable"] and made.flips[0]["ends"] != ends:
        yield f"{at}backtest {made.flips[0]}, API {ends}, {imagined['stop_reason']}"
    if imagined["undecidable"] and imagined["why"] not in "\n".join(lines_of(made)):
        yield f"{at}manage.py backtest lacks {imagined['why']}"
    made.delete()
