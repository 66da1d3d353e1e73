"""What a turn began with and what it asks with is stored once, whoever writes it, and reads as it was said."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from agentcore import serial, verify
from agentcore.events import Started
from agentcore.messages import Message, Role, ToolSpec
from agentcore.values import replace
from dashboard.agents.selectors import project_default
from dashboard.gateway.recording.recorder import Recorder
from dashboard.timeline.services import turns_erase
from dashboard.turns import nodes
from dashboard.turns.damage import damage_of
from dashboard.turns.history import client_body_of, messages_of, recording_of, request_body_of, sha256_of
from dashboard.turns.models import Attempt, Node, Record, Turn
from dashboard.turns.node_writer import NodeWriter
from dashboard.turns.recorder import record_step
from dashboard.turns.shared_values import LARGE, SharedValues, exact_text, whole
from tests.dashboard.gateway.told_turns import AT, ODD, Story, cut, ended, ruling, tell

pytestmark = pytest.mark.django_db(transaction=True)

TOOLS = tuple(ToolSpec(f"tool_{n}", f"{ODD} says what it does. " * 20, {"type": "object"}) for n in range(5))
ODD_VALUES = {"text": ODD * LARGE, "numbers": [2**70, 1e22, -0.0, 0.1] * LARGE, "small": 1, "none": None, "nothing": []}

SOURCES = {"fields": {"limits.max_continuations": 0}, "layers": [{"level": "agent", "of": "told", "policy": "site"}]}


class Agent(Story):
    """Goes on from so many messages, with tools."""

    said: tuple[Message, ...] = ()

    def started(self) -> Started:
        began = super().started()
        setup = replace(began.setup, tools=TOOLS, system_prompt="Be kind. " * 100)
        return replace(began, setup=setup, messages=(*self.said, Message(Role.USER, f"Go on. {ODD}")))


def agent(*before: str) -> Agent:
    story = Agent([cut("The quick brown"), ended(" fox.")])
    story.said = tuple(Message(Role.USER if n % 2 else Role.ASSISTANT, text) for n, text in enumerate(before))
    return story


def by_the_gateway(*stories: Story) -> None:
    new = [story.new_turn() for story in stories]

    async def told() -> None:
        recorder = Recorder()
        for story, each in zip(stories, new, strict=True):
            await tell(recorder, story, each, one_by_one=True)
        await recorder.close()

    asyncio.run(told())


def by_a_driver(*stories: Story) -> None:
    for story in stories:
        new, began = story.new_turn(), serial.event_to_json(story.started())
        Turn.objects.create(
            id=story.id,
            project_id=new.project_id,
            agent_name="told",
            provider="openai",
            model="m",
            max_tokens=40,
            policy=new.ruling.stored,
            policy_sources=new.ruling.sources,
            setup={"setup": began["setup"], "messages": began["messages"]},
        )
        for _, entry in story.steps():
            record_step(entry)


def stored_rules(turn_id: UUID) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT policy::text, policy_sources::text FROM turns_turn WHERE id = %s", [turn_id])
        return cursor.fetchone()


def stored_setup(turn_id: UUID) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setup::text FROM turns_turn WHERE id = %s", [turn_id])
        return str(cursor.fetchone()[0])


def stored_event(turn_id: UUID) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT event::text FROM turns_record WHERE turn_id = %s AND seq = 1", [turn_id])
        return json.loads(cursor.fetchone()[0])


@pytest.mark.parametrize("write", [by_a_driver, by_the_gateway])
def test_the_initial_messages_of_a_turn_read_back_unchanged(write):
    story = agent("One.", f"Two. {ODD}")
    write(story)
    began, turn = serial.event_to_json(story.started()), story.turn()
    assert Record.objects.get(turn_id=turn.pk, seq=1).event == began
    assert turn.setup == {"setup": began["setup"]}
    assert verify(recording_of(turn)).verified
    assert [sha256_of(request_body_of(each)) for each in Attempt.objects.filter(turn_id=turn.pk)] == list(
        Attempt.objects.filter(turn_id=turn.pk).values_list("request_sha256", flat=True)
    )


@pytest.mark.parametrize("write", [by_a_driver, by_the_gateway])
def test_the_first_record_contains_neither_the_history_nor_the_tools(write):
    story = agent(*("A message of some length. " * 10 for _ in range(30)))
    write(story)
    assert len(json.dumps(stored_event(story.id))) < 1_000
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(length(request)) FROM turns_attempt WHERE turn_id = %s", [story.id])
        assert cursor.fetchone()[0] < 1_000


@pytest.mark.parametrize("write", [by_a_driver, by_the_gateway])
def test_turns_of_one_agent_share_their_tools_and_each_message(write):
    write(first := agent("One."))
    before = Node.objects.count()
    write(agent("One."), agent("One.", "Two.", "Three."))
    assert Node.objects.count() == before + 3, "the two that are new, and the user's after them"
    assert Turn.objects.values("shared_id").distinct().count() == 1
    read = nodes.read(first.turn().shared_id)
    values = [node for node in read if nodes.NodeForm.VALUE in node and nodes.NodeForm.FRAME not in node]
    assert len(values) == 3, "the setup's tools, the calls', and the policy"


@pytest.mark.parametrize("write", [by_a_driver, by_the_gateway])
def test_turns_of_one_policy_share_it_and_its_layers(write):
    first, second, other = agent("One."), agent("One.", "Two."), agent("One.")
    for story in (first, second):
        story.ruling = replace(story.ruling, sources=SOURCES)
    other.ruling = ruling(max_tokens=41)
    write(first, second, other)
    assert stored_rules(first.id) == stored_rules(second.id) != stored_rules(other.id)
    assert sum(len(text or "") for text in stored_rules(first.id)) < 300, "references, and what statements ask for"
    for story in (first, second, other):
        turn = story.turn()
        assert (turn.policy, turn.policy_sources) == (story.ruling.stored, story.ruling.sources)
        assert verify(recording_of(turn)).verified
    named = Turn.objects.filter(policy_sources__contains=[{"layers": [{"policy": "site"}]}])
    assert set(named.values_list("id", flat=True)) == {first.id, second.id}


def test_the_setup_of_a_clients_call_is_in_the_node_of_its_request():
    first, second = Story([ended("Yes.")]), agent("One.")
    for story in (first, second):
        by_the_gateway(story)
        began, turn = serial.event_to_json(story.started()), story.turn()
        assert turn.setup == {"setup": began["setup"]}
        assert len(stored_setup(turn.pk)) < 130, "a reference, and the turn's id"
        assert client_body_of(turn) == story.new_turn().body
        assert verify(recording_of(turn)).verified


def test_calls_with_equal_requests_share_their_node():
    stories = [Story([ended("Yes.")]) for _ in range(3)]
    by_the_gateway(stories[0])
    before = Node.objects.count()
    by_the_gateway(*stories[1:])
    assert Node.objects.count() == before


@pytest.mark.parametrize("lost", [[str(UUID(int=1)), {}], [1], [], ["no id"]])
def test_an_unresolvable_setup_reads_as_the_values_of_its_row_and_is_named(lost):
    by_the_gateway(story := agent())
    Turn.objects.filter(id=story.id).update(setup={"setup": lost})
    assert story.turn().setup == {"setup": lost}
    assert damage_of(story.id) == ["The beginning cannot be read."]


def test_drivers_and_the_gateway_share_a_policy():
    driven, called = agent("One."), agent("One.")
    driven.ruling = called.ruling = replace(driven.ruling, sources=SOURCES)
    by_a_driver(driven)
    by_the_gateway(called)
    assert stored_rules(driven.id) == stored_rules(called.id)


@pytest.mark.parametrize("lost", [[str(UUID(int=1)), {}], [1], [], ["no id"]])
def test_an_unresolvable_policy_reads_as_the_values_of_its_row(lost):
    by_the_gateway(story := agent())
    Turn.objects.filter(id=story.id).update(policy=lost)
    assert story.turn().policy == lost


def test_shared_content_is_deleted_with_the_last_turn(django_user_model):
    first, second = agent("One."), agent("One.", "Two.")
    by_the_gateway(first, second)
    user, project = django_user_model.objects.create(username="ada"), project_default()
    turns_erase(project=project, chosen=[first.id], by=user)
    assert verify(recording_of(second.turn())).verified
    turns_erase(project=project, chosen=[second.id], by=user)
    assert Node.objects.count() == 0


def test_a_value_is_restored_to_the_last_digit():
    shared, made = SharedValues(), []
    told = shared.told(project_default().pk, ODD_VALUES, made)
    assert shared.told(project_default().pk, ODD_VALUES, made) == told
    assert len(made) == 1
    Node.objects.create(id=made[0].id, packed=made[0].packed)
    assert len(json.dumps(told)) < LARGE
    assert repr(whole(json.loads(json.dumps(told)))) == repr(ODD_VALUES)
    assert list(whole(told)) == list(ODD_VALUES), "in its order"


def test_small_values_stay_in_their_row():
    shared, made = SharedValues(), []
    assert shared.told(project_default().pk, {"a": 1, "b": "short"}, made) == {"a": 1, "b": "short"}
    assert (shared.head, made) == (None, [])


def test_text_of_others_is_never_read_as_a_reference():
    """A reference stands where an object stands otherwise, and a part of a column is never read as a beginning."""
    secret = SharedValues()
    made: list[nodes.NewNode] = []
    reference = secret.told(project_default().pk, {"secret": "x" * LARGE}, made)
    Node.objects.create(id=made[0].id, packed=made[0].packed)
    extra = {"setup": reference, "messages": str(made[0].id)}
    story = agent()
    turn = Turn.objects.create(
        project=project_default(), agent_name="a", provider="openai", model="m", max_tokens=9, setup={"setup": extra}
    )
    assert Turn.objects.values_list("setup__setup", flat=True).get(pk=turn.pk) == extra
    Record.objects.create(
        turn_id=story.id, seq=1, at=AT, event={"type": "operator_acted", **extra}, command={}, core_version="1"
    )
    assert Record.objects.get(turn_id=story.id).event == {"type": "operator_acted", **extra}


def test_a_turn_from_before_nodes_continues_with_them():
    telling = NodeWriter(project_default().pk, None, ['{"role":"user"}'])
    telling._grow(['{"role":"assistant"}'], ())
    with transaction.atomic():
        for node in telling.made:
            Node.objects.create(id=node.id, parent_id=node.parent, packed=node.packed)
    turn = Turn.objects.create(
        project=project_default(), agent_name="a", provider="openai", model="m", max_tokens=9, node_id=telling.said
    )
    assert messages_of(turn.pk) == telling.wires == ['{"role":"user"}', '{"role":"assistant"}']
    assert exact_text({"a": "\ud800"}) == b'{"a":"\\ud800"}'
