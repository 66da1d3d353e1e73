"""The messages with which turns began, where they are referred to."""

import json
from uuid import UUID

import pytest

from dashboard.turns import shared_values
from dashboard.turns.nodes import NodeForm
from dashboard.turns.read_ahead import reading_ahead
from dashboard.turns.shared_values import messages_of

TURNS, MESSAGES = 5, 7


def test_only_the_requested_messages_of_a_prefetched_list_are_parsed(monkeypatch: pytest.MonkeyPatch):
    parsed, loads = [], json.loads
    monkeypatch.setattr(shared_values.json, "loads", lambda text: (parsed.append(text), loads(text))[1])
    with reading_ahead() as held:
        for turn in range(TURNS):
            for n in range(MESSAGES):
                parent = UUID(int=100 * turn + n) if n else None
                held.nodes[UUID(int=100 * turn + n + 1)] = (parent, {NodeForm.MESSAGE: b'"%d of %d"' % (n, turn)})
        heads = [str(UUID(int=100 * turn + MESSAGES)) for turn in range(TURNS)]
        found = {head: messages_of([{"messages": head}])[head] for head in heads}
    assert [found[head] for head in heads] == [[f"{n} of {turn}" for n in range(MESSAGES)] for turn in range(TURNS)]
    assert len(parsed) == TURNS * MESSAGES
