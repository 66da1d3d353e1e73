"""The limits of a list of turns: a page costs the same few statements however many rows it has."""

import re
from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentcore.replay import Certainty
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.live.services import turn_start
from dashboard.policies.suggestions import limit_usage, suggestion_cache
from dashboard.policies.suggestions.list_suggestions import limit_orders, suggestions_lately, suggestions_now
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.policies.suggestions.suggestion_cache import remembered, suggestion_now
from dashboard.policies.suggestions.suggestion_text import because
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns import shared_values
from dashboard.turns.api_serializers import turns_json
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import HTMX

pytestmark = pytest.mark.django_db(transaction=True)


CONTINUING = Suggestion(
    "max_continuations", 8, 3, Certainty.ESTIMATED, Basis.AGENT,
    together={"limits": {"max_total_completion_tokens": 960, "max_total_output_chars": None}},
)  # fmt: skip
RETRY = Suggestion(
    "max_retries", 4, 3, Certainty.ESTIMATED, Basis.SETTING, Goal.RETRY,
    together={"error_policy": {"on_rate_limit_error": "retry"}},
)  # fmt: skip
TRIED = Suggestion("max_retries", 4, 3, Certainty.UNDECIDABLE, Basis.NONE)


def cell(said: Suggestion) -> str:
    html = render_to_string("suggestions/_cell.html", {"said": said})
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_a_row_names_all_settings_that_must_change_together():
    shown = cell(CONTINUING)
    assert shown == "8 was 3 Max continuations + 960 completion tokens + no limit on output characters"


def test_whether_two_failed_runs_are_the_same_is_unknown():
    """More retries try the call again; that it is then answered, neither turn tells."""
    assert cell(TRIED) == "not known Max failures in a row was 3"
    assert cell(RETRY) == "end not known Max failures in a row 4 + retry on rate limit errors"
    assert because(RETRY).endswith("Whether the provider would then have answered is not known.")


def forget() -> None:
    suggestion_cache._suggestions.clear()
    limit_usage._usage_cache.clear()
    shared_values._content.clear()


def asked_for(turns: Collection[Turn], read: Callable[..., Any] = limit_orders) -> list[str]:
    forget()
    with CaptureQueriesContext(connection) as asked:
        assert len(read([turn.id for turn in turns])) == len(turns)
    return [query["sql"] for query in asked.captured_queries]


def test_a_list_of_truncated_turns_needs_as_many_statements_as_one(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    turns = [
        drive(turn_start(agent=agent, input_text="tell me", overrides={"system_prompt": f"{n} " * 200}))
        for n in range(5)
    ]
    asked_for(turns)  # what is kept for a minute
    one, five = asked_for(turns[:1]), asked_for(turns)
    assert len(five) <= len(one), five[len(one) :]
    assert len(five) < 16


def test_an_api_list_of_truncated_turns_needs_as_many_statements_for_four_as_for_two(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    turns = [drive(turn_start(agent=agent, input_text="tell me")) for _ in range(4)]

    def as_json(ids: Collection[UUID]) -> list[dict[str, Any]]:
        return turns_json([*Turn.objects.select_related("policy_version", "origin", "ingested").filter(id__in=ids)])

    asked_for(turns, as_json)
    two, four = asked_for(turns[:2], as_json), asked_for(turns, as_json)
    assert len(four) <= len(two), four[len(two) :]


def test_a_list_of_many_agents_needs_as_many_statements_as_one(agent_of: AgentOf):
    agents = [agent_of("sim-essay", name=f"agent-{n}", max_tokens=60) for n in range(4)]
    turns = [drive(turn_start(agent=agent, input_text="tell me")) for agent in agents]
    asked_for(turns)
    one, four = asked_for(turns[:1]), asked_for(turns)
    assert len(four) <= len(one), four[len(one) :]


def test_a_list_of_re_runs_needs_as_many_statements_as_one(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    turns = [drive(turn_start(agent=agent, input_text="tell me")) for _ in range(3)]
    again = [drive(turn_rerun(turn=turn, overrides={"max_tokens": 2_000})) for turn in turns]
    asked_for(turns)
    one, three = asked_for(turns[:1]), asked_for(turns)
    assert len(three) <= len(one), three[len(one) :]
    assert len(asked_for([*turns, *again])) <= len(one)


def test_the_list_gives_the_same_limit_as_each_turn_alone(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    turns = [drive(turn_start(agent=agent, input_text="tell me")) for _ in range(3)]
    drive(turn_rerun(turn=turns[0], overrides={"max_tokens": 2_000}))
    drive(turn_rerun(turn=turns[1], overrides={"max_tokens": 70}))
    every = list(Turn.objects.all())
    forget()
    alone = {turn.id: said and (said.limit, said.value) for turn in every for said in [suggestion_now(turn)]}
    forget()
    limit_orders([turn.id for turn in every])
    listed = {key[0]: said and (said.limit, said.value) for key, (_, said) in suggestion_cache._suggestions.items()}
    assert all(alone[turn] == said for turn, said in listed.items())
    assert len(listed) == 4


def test_turns_without_a_needed_limit_or_with_a_cached_one_are_not_read_completely(agent_of: AgentOf):
    cut = drive(turn_start(agent=agent_of("sim-essay", name="cut", max_tokens=60), input_text="tell me"))
    whole = drive(turn_start(agent=agent_of("sim-essay", name="whole"), input_text="tell me"))
    project = project_default()
    assert len(asked_for([whole])) == 1
    assert len(asked_for([whole], lambda ids: suggestions_now(ids, project))) == 1
    asked_for([cut])
    with CaptureQueriesContext(connection) as asked:
        assert limit_orders([cut.id]) is not None
    assert len(asked) == 1


def test_the_turns_of_another_project_are_not_read_completely(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-essay", max_tokens=60), input_text="tell me"))
    other = Project.objects.create(name="other")
    with CaptureQueriesContext(connection) as asked:
        assert suggestions_now([turn.id], other) == []
    assert len(asked) == 1


def test_the_cells_of_another_projects_turns_show_nothing(browser: Client, agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-essay", max_tokens=60), input_text="tell me"))
    address = f"/turns/limits?turn={turn.id}"
    assert str(turn.id) in browser.get(address, headers=HTMX).content.decode()
    Turn.objects.filter(id=turn.id).update(project=Project.objects.create(name="other"))
    assert browser.get(address, headers=HTMX).content.decode().strip() == ""


class Forgetful(dict[Any, Any]):
    """As if another thread forgot all at the worst moment: after each look at what is remembered."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key, default)
        self.clear()
        return found


def test_a_concurrent_cache_eviction_breaks_nothing(agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch):
    turn = drive(turn_start(agent=agent_of("sim-essay", max_tokens=60), input_text="tell me"))
    forget()
    said, filters = suggestion_now(turn), limit_usage.alike(turn)[0]
    limit_usage.usage_lately(turn=turn, limit="max_steps", filters=filters)
    suggestions, usage = suggestion_cache._suggestions.copy(), limit_usage._usage_cache.copy()
    monkeypatch.setattr(suggestion_cache, "_suggestions", Forgetful(suggestions))
    assert suggestion_cache.suggestion_lately(turn) == said
    for read in (
        lambda: limit_usage.usage_lately(turn=turn, limit="max_steps", filters=filters),
        lambda: limit_usage.usage_of_list([(turn, "max_steps")]),
    ):
        monkeypatch.setattr(limit_usage, "_usage_cache", Forgetful(usage))
        assert read()


def test_a_slow_suggestion_is_requested_again_and_delays_no_other_turn(
    agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch
):
    turn = drive(turn_start(agent=agent_of("sim-essay", max_tokens=60), input_text="tell me"))
    forget()
    monkeypatch.setattr(limit_usage, "rows_of_each", lambda queries, _: [None] * len(queries))
    known = limit_usage.usage_of_list([(turn, "max_steps")])
    assert [*known.values()] == [None, None]
    assert not limit_usage._usage_cache


def test_a_suggestion_not_found_in_time_is_not_reported_as_missing(agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch):
    turn = drive(turn_start(agent=agent_of("sim-essay", max_tokens=60), input_text="tell me"))
    forget()
    with monkeypatch.context() as slow:
        slow.setattr(limit_usage, "_used_by_each", lambda _, __, filters: [None] * len(filters))
        assert suggestions_lately([turn.id]) == {turn.id: None}
    assert remembered(turn) is None
    assert suggestions_lately([turn.id])[turn.id] is not None
