"""A turn's page, its what-if, the API and the command say the same verdict of every kind of ending."""

import asyncio
import html
import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.agents.models import Project
from dashboard.tour import services
from dashboard.tour.selectors import turns_of_tour
from dashboard.turns.models import Turn
from tests.dashboard.pages import text_of
from tests.dashboard.tour.test_lessons import all_driven


def sentences_on(page: str) -> list[str]:
    """The verdicts that a page has, as a person reads them: marking up a key adds no space."""
    found = re.findall(r'<p class="verdict">(.*?)</p>', page, re.DOTALL)
    return [html.unescape(text_of(each)) for each in found]


def contains_verdict(verdict: str, page: str) -> bool:
    """Where a verdict has no words to colour, the page begins with the reason; what would have helped stands below."""
    return any(verdict[:50] in told or verdict.startswith(told.strip()) for told in sentences_on(page))


@pytest.mark.nightly  # by day `policies/suggestions/test_surfaces_agree.py` compares the surfaces
def test_each_lesson_is_described_the_same_way_everywhere(project: Project, browser: Client):
    services.tour_load(project=project)
    turns = list(turns_of_tour(project).values())
    asyncio.run(all_driven(turns))
    apart = [found for turn in Turn.objects.order_by("id") for found in ways_apart(turn, browser)]
    assert len(turns) > 20
    assert apart == []


def ways_apart(turn: Turn, browser: Client) -> list[str]:
    told = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["verdict"]
    page = browser.get(f"/turns/{turn.id}").content.decode()
    alike = {"page": contains_verdict(told, page), "row": told == turn.verdict}
    overrides = {"max_tokens": turn.max_tokens}
    asked = {"overrides": overrides, "mode": "what_if"}
    answer = browser.post(f"/api/v1/turns/{turn.id}/replay", asked, content_type="application/json")
    if answer.status_code == 200:
        out = StringIO()
        call_command("replay", str(turn.id), "--max-tokens", str(turn.max_tokens), "--json", stdout=out)
        said = answer.json()["verdict"]
        shown = browser.get(f"/turns/{turn.id}/replay?max_tokens={turn.max_tokens}").content.decode()
        alike |= {"command": json.loads(out.getvalue())["verdict"] == said, "what-if": contains_verdict(said, shown)}
    else:
        alike[f"what-if {answer.status_code} {answer.content.decode()[:80]}"] = False
    return [f"{way}: {told} {sentences_on(page)}" for way, same in alike.items() if not same]
