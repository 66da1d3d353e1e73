"""Why a turn stopped over the API: the tree at its own address, so that lists stay cheap; filters by what ran out."""

from uuid import uuid4

import pytest

from dashboard.live.services import turn_start
from tests.dashboard.api.conftest import Program, said
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_tree_of_a_turn_leads_from_its_ending_to_the_providers_stop_reason(api: Program, play: Play):
    cut = play("sim-essay", max_tokens=60)
    told = api.get(f"/turns/{cut.id}/verdict").json()
    assert told["verdict"] == cut.verdict
    assert (told["resource"], told["clause"]) == ("max_continuations", "limits.max_continuations")
    assert told["decided_at"] == {"seq": 5, "number": 13}
    node, kinds = told["tree"], []
    while node:
        kinds.append(node["kind"])
        node = node["because"][-1] if node["because"] else None
    assert kinds == ["terminal", "transition", "evaluation", "input", "provider_word"]


def test_the_turn_itself_still_returns_the_sentence_alone(api: Program, play: Play):
    cut = play("sim-essay", max_tokens=60)
    assert api.get(f"/turns/{cut.id}").json()["verdict"] == cut.verdict


def test_a_running_turn_has_no_tree_yet(api: Program, agent_of: AgentOf):
    queued = turn_start(agent=agent_of("sim-essay"), input_text="x")
    told = api.get(f"/turns/{queued.id}/verdict").json()
    assert (told["verdict"], told["tree"], told["decided_at"], told["resource"]) == ("", None, None, None)
    assert api.get(f"/turns/{queued.id}/roads").json() == []


def test_other_transitions_are_listed_by_step_in_the_words_of_transitions(api: Program, play: Play):
    cut = play("sim-essay", max_tokens=60)
    steps = api.get(f"/turns/{cut.id}/roads").json()
    assert [step["number"] for step in steps] == [3, 4, 6, 7, 9, 10, 12, 13, 14]
    assert set(steps[0]) == {"seq", "number", "from", "trigger", "to", "roads"}
    assert set(steps[0]["roads"][0]) == {"trigger", "to", "guard", "open", "miss", "near"}


@pytest.mark.parametrize("part", ["verdict", "roads"])
def test_a_missing_turn_returns_nothing(api: Program, part: str):
    assert api.get(f"/turns/{uuid4()}/{part}").status_code == 404


def test_turns_are_filtered_by_exhausted_limit_and_ending(api: Program, agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    cut = drive(turn_start(agent=agent, input_text="Why?"))
    whole = drive(turn_start(agent=agent, input_text="Why?", overrides={"max_tokens": 2000}))

    def found(**filters: str) -> list[str]:
        return [turn["id"] for turn in api.get("/turns", **filters).json()["items"]]

    assert found(resource="max_continuations") == [str(cut.id)]
    assert found(terminal_reason="completed") == [str(whole.id)]
    assert found(resource="max_steps") == []
    assert found(resource="max_continuations", q="agents") == [str(cut.id)]
    refused = said(api.get("/turns", resource="patience"))
    assert refused["resource"].startswith("Limit reached (resource) must be one of max_continuations,")
