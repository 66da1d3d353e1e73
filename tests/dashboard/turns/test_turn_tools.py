"""What a turn gives its tools to look into."""

import pytest

from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Record
from dashboard.turns.turn_tools import turn_context
from tests.dashboard.driving import drive

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_turn_searches_the_documents_it_was_started_with(agent_of):
    agent = agent_of("sim-tools", tools=["search_documents"])
    documents = [{"name": "handbook.md", "text": "The otter sleeps.\x00"}, {"name": "b", "text": ""}]
    turn = turn_start(agent=agent, input_text="Where is the otter?", documents=documents)
    context = turn_context(turn.id)
    assert [(document.name, document.text) for document in context.documents] == [
        ("handbook.md", "The otter sleeps.\ufffd"),
        ("b", ""),
        ("message 1 (user)", "Where is the otter?"),
    ]
    drive(turn)
    events = [record.event for record in Record.objects.filter(turn_id=turn.id)]
    (result, *_) = next(event["results"] for event in events if event["type"] == "tools_returned")
    assert '"name":"handbook.md","characters":18' in result["content"]


def test_what_a_turns_tools_returned_can_be_searched_too(agent_of):
    turn = drive(turn_start(agent=agent_of("sim-tools", tools=["calculator"]), input_text="Count."))
    *_, first, second = turn_context(turn.id).documents
    assert first.name.startswith("result of calculator (")
    assert {first.text, second.text} == {"42", "1024"}


def test_a_turn_that_is_run_again_has_the_same_documents(agent_of):
    agent = agent_of("sim-tools", tools=["calculator"])
    turn = drive(turn_start(agent=agent, input_text="Count.", documents=[{"name": "a", "text": "A"}]))
    child = turn_rerun(turn=turn, overrides={})
    fork = turn_rerun(turn=turn, overrides={}, from_record=2)
    for made in (child, fork):
        assert [(d.name, d.text) for d in turn_context(made.id).documents][:2] == [
            ("a", "A"),
            ("message 1 (user)", "Count."),
        ]
