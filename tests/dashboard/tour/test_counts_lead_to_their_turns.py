"""Every number of turns that leads to a list leads to exactly so many turns."""

import asyncio
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from django.http import QueryDict
from django.test import Client

from dashboard.agents.models import Project
from dashboard.tour import services
from dashboard.tour.selectors import turns_of_tour
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.selectors import turns_matching
from dashboard.turns.turn_query import find
from tests.dashboard.board.test_sum_updates import brought_up_to_date
from tests.dashboard.pages import text_of
from tests.dashboard.tour.test_lessons import all_driven

ENDED = {"not_status": ["queued", "running", "held"]}
LINK = re.compile(r'<a\b[^>]*?\bhref="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A number on a page, and the address it leads to. `of_ended`: it is a share of the ended turns, in percent."""

    where: str
    number: float
    address: str
    of_ended: bool = False


@pytest.fixture
def toured(project: Project) -> Project:
    services.tour_load(project=project)
    services.tour_go_on(project=project)
    asyncio.run(all_driven(turns_of_tour(project).values()))
    services.tour_go_on(project=project)
    asyncio.run(all_driven(turn for turn in turns_of_tour(project).values() if turn.parent_id))
    brought_up_to_date()
    return project


def filters_of(address: str) -> TimelineFilters:
    """Whatever a list cannot read would widen it."""
    filters, errors = TimelineFilters.parse(QueryDict(urlsplit(address).query))
    assert errors == {}, address
    return filters


def turns_behind(project: Project, filters: TimelineFilters) -> int:
    """How many turns the list has, however they are looked for."""
    found = {turn_id for turn_id, _ in find(project=project, filters=filters, reach=id_range_of(filters), limit=1_000)}
    assert found == set(turns_matching(project=project, filters=filters).values_list("id", flat=True))
    return len(found)


def apart(project: Project, shown: Shown) -> str:
    """How a number differs from that of the turns behind it; empty where it does not."""
    filters = filters_of(shown.address)
    behind: float = turns_behind(project, filters)
    if shown.of_ended:
        period = TimelineFilters(since=filters.since, until=filters.until, not_status=tuple(ENDED["not_status"]))
        behind = round(100 * behind / turns_behind(project, period), 1)
    return "" if shown.number == behind else f"{shown.where}: {shown.number} shown, {behind} behind {shown.address}"


def page(browser: Client, address: str) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def links(part: str) -> Iterator[tuple[str, str]]:
    """The address and the words of each link."""
    for address, inner in LINK.findall(part):
        yield html.unescape(address), html.unescape(text_of(inner)).strip()


def number_in(text: str) -> float:
    found = re.search(r"(\d[\d,.]*)(?:\s*%)?\s*(?:turns?)?$", text)
    assert found, text
    return float(found[1].replace(",", ""))


def section(whole: str, key: str) -> str:
    found = re.search(rf'<section[^>]* id="{key}".*?</section>', whole, re.DOTALL)
    return found[0] if found else ""


def on_the_board(browser: Client) -> Iterator[Shown]:
    """Bars and cells of the charts that count turns, and the rows of the table."""
    for stack in ("model_stop_reason", "stop_reason"):
        for by in ("agent", "provider", "model"):
            address = f"/metrics-board?period=day&stack={stack}&by={by}"
            whole = page(browser, address)
            for key in ("turns", "lint_findings", "truncation_rate", "failure_rate"):
                for leads_to, words in links(section(whole, f"chart-{key}")):
                    yield Shown(f"{address} {key} {words}", number_in(words), leads_to, key.endswith("_rate"))
            for row in re.findall(r'<tr><th scope="row"><a href.*?data-label="Turns">.*?</td>', whole, re.DOTALL):
                ((leads_to, name),) = links(row)
                (turns,) = re.findall(r'data-label="Turns">(.*?)</td>', row)
                yield Shown(f"{address} {name}", number_in(turns), leads_to)


def of_agents(browser: Client) -> Iterator[Shown]:
    for address in ("/agents", "/agents/sim-essay", "/agents/sim-json"):
        for leads_to, words in links(page(browser, address)):
            if leads_to.startswith("/?") and re.match(r"\d", words):
                yield Shown(f"{address} {words}", number_in(words), leads_to)


def of_lint(browser: Client) -> Iterator[Shown]:
    """The sum of each sign, and the signs of each connection and model."""
    for days in (7, 30, 90):
        whole = page(browser, f"/lint?days={days}")
        for code in re.findall(r'<section class="card lint" id="(lint-\w+)"', whole):
            part = section(whole, code)
            (leads_to,) = [address for address, _ in links(part) if address.startswith("/?")]
            yield Shown(
                f"/lint?days={days} {code}", number_in(text_of(re.findall("<h2.*?</h2>", part, re.DOTALL)[0])), leads_to
            )
        for leads_to, words in links(section(whole, "lint-sources")):
            yield Shown(f"/lint?days={days} {words}", number_in(words), leads_to)


def of_the_timeline(browser: Client) -> Iterator[Shown]:
    """Facets, of which each value counts turns with it, and each *not* turns without it; and the chart's bars."""
    for query in ("", "agent=sim-essay", "not_status=completed", "requested_again=truncated"):
        whole = page(browser, f"/timeline/facets?{query}")
        for choice in re.findall(r'<div class="choice">.*?</label>\s*</div>', whole, re.DOTALL):
            name, value = map(html.unescape, re.findall(r' name="(\w+)"\s+value="([^"]*)"', choice)[0])
            if name in query:
                continue
            leads_to = "/?" + "&".join(part for part in (query, f"{name}={value}") if part)
            counted = re.findall(r'class="count">(.*?)<', choice)[0]
            yield Shown(f"facet of {query} {name} {value}", number_in(counted), leads_to)
        for stack in ("model_stop_reason", "stop_reason"):
            whole = page(browser, f"/timeline/chart?{query}&stack={stack}")
            for since, until, total in re.findall(r'data-since="(.*?)" data-until="(.*?)".*?data-total="(\d+)"', whole):
                leads_to = "/?" + "&".join(part for part in (query, f"since={since}&until={until}") if part)
                yield Shown(f"bar of {query}", float(total), leads_to)


def test_each_number_of_turns_leads_to_exactly_these(toured: Project, browser: Client):
    for shown in (on_the_board, of_agents, of_lint, of_the_timeline):
        found = list(shown(browser))
        assert len(found) > 5, shown.__name__
        assert [told for each in found if (told := apart(toured, each))] == []


def test_each_number_of_the_stopped_turns_leads_to_exactly_these(toured: Project, browser: Client):
    found = [link for link in links(page(browser, "/policies/ledger")) if "/ledger/turns?" in link[0]]
    assert len(found) > 5
    for address, words in found:
        stopped = page(browser, address)
        listed = re.findall(r"<ul class=\"stopped-turns\">.*?</ul>", stopped, re.DOTALL)[0]
        (title,) = re.findall(r'<h1 class="page-title">(.*?)</h1>', stopped)
        told = re.match(r"\d+", text_of(title))
        assert told, title
        assert int(told[0]) == number_in(words) == listed.count("<li>"), address
