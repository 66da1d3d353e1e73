"""Conversations as nodes: what begins alike is stored once, by project, and comes back as it was."""

from uuid import UUID

import pytest
from django.test import override_settings

from dashboard.platform.ids import new_id
from dashboard.turns import nodes
from dashboard.turns.compression import unpacked
from dashboard.turns.models import Node
from dashboard.turns.nodes import NodeForm, grown, parts, read, said
from dashboard.turns.recorder import keep

ONE, OTHER = UUID(int=1), UUID(int=2)
HISTORY = [b'{"role": "system"}', b'{"role": "user", "content": "Why?"}', b'{"role": "assistant"}', b'{"role": "user"}']


def stored(forms: dict[NodeForm, list[bytes]], parent: UUID | None = None, project: UUID = ONE) -> UUID:
    made = grown(project, parent, forms)
    keep(made)
    return made[-1].id


@pytest.mark.django_db
def test_a_conversation_is_restored_in_each_format():
    head = stored({NodeForm.CLIENT: HISTORY[1:], NodeForm.WIRE: HISTORY})
    nodes = read(head)
    assert said(nodes, NodeForm.WIRE) == HISTORY
    assert said(nodes, NodeForm.CLIENT) == HISTORY[1:]
    assert read(None) == []


@pytest.mark.django_db
def test_conversations_with_the_same_start_share_it():
    heads = [stored({NodeForm.CLIENT: HISTORY[: n + 1], NodeForm.WIRE: HISTORY[: n + 1]}) for n in range(4)]
    assert Node.objects.count() == 4
    assert len(set(heads)) == 4
    branch = stored({NodeForm.CLIENT: [b"2"], NodeForm.WIRE: [b"2"]}, parent=heads[1])
    assert said(read(branch), NodeForm.WIRE) == [*HISTORY[:2], b"2"]
    assert Node.objects.count() == 5


def test_the_form_without_a_system_prompt_shares_the_nodes_of_later_messages():
    early, late = (grown(ONE, None, {NodeForm.CLIENT: HISTORY[1:n], NodeForm.WIRE: HISTORY[:n]}) for n in (2, 4))
    assert late[: len(early)] == early


def test_another_project_another_key_and_another_parent_give_another_id():
    forms = {NodeForm.WIRE: HISTORY[:1]}
    first = grown(ONE, None, forms)[0].id
    assert grown(ONE, None, forms)[0].id == first
    assert grown(OTHER, None, forms)[0].id != first
    assert grown(ONE, new_id(), forms)[0].id != first
    with override_settings(SECRET_KEY="another"):
        assert grown(ONE, None, forms)[0].id != first


def test_forms_and_messages_with_equal_concatenations_are_distinguished():
    ids = {
        grown(ONE, None, forms)[-1].id
        for forms in (
            {NodeForm.WIRE: [b"ab"]},
            {NodeForm.CLIENT: [b"ab"]},
            {NodeForm.CLIENT: [b"a"], NodeForm.WIRE: [b"b"]},
            {NodeForm.WIRE: [b"a", b"b"]},
        )
    }
    assert len(ids) == 4


@pytest.mark.django_db
def test_a_long_conversation_is_read_with_one_query():
    wires = [b"%d" % n for n in range(3_000)]
    assert said(read(stored({NodeForm.WIRE: wires})), NodeForm.WIRE) == wires


def test_a_form_with_an_overstated_length_is_refused():
    (node,) = grown(ONE, None, {NodeForm.WIRE: [b"Why?"]})
    assert dict(parts(node.content)) == {NodeForm.WIRE: b"Why?"}
    with pytest.raises(ValueError, match="cut off"):
        dict(parts(node.content[:4] + b"\x09" + node.content[5:]))


@pytest.mark.django_db
@pytest.mark.parametrize("at_once", [1, 60, 10_000])
def test_shared_nodes_are_returned_once_for_any_number_of_conversations(at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nodes, "_AT_ONCE", at_once)
    made = grown(ONE, None, {NodeForm.WIRE: HISTORY})
    keep(made)
    told = list(nodes.stored_nodes([made[-1].id, made[1].id]))
    assert sorted((node, parent, unpacked(content)) for node, parent, content in told if parent) == sorted(
        (one.id, one.parent, one.content) for one in made if one.parent
    )
    assert len(told) == len(made)
    assert list(nodes.stored_nodes([])) == []
