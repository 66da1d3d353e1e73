import re
from itertools import combinations

import pytest

from agentcore.replay import fold
from agentcore.states import TRANSITIONS, State
from dashboard.turns.diagram import BOX_HEIGHT, BOX_WIDTH, HEIGHT, PITCH, PLACES, WIDTH, diagram_of
from dashboard.turns.moments import moments_of
from tests.dashboard.turns.histories import cut_twice
from tests.together import together

EMPTY = diagram_of(())


def test_every_state_lies_within_the_picture():
    assert set(PLACES) == set(State)
    assert all(0 < x < WIDTH - BOX_WIDTH and 0 < y < HEIGHT - BOX_HEIGHT for x, y in PLACES.values())


def test_states_do_not_touch_and_leave_room_for_labels():
    for (x1, y1), (x2, y2) in combinations(PLACES.values(), 2):
        assert abs(x1 - x2) > BOX_WIDTH or abs(y1 - y2) >= PITCH
    assert PITCH - BOX_HEIGHT > 12


def test_every_pair_of_connected_states_is_drawn_once():
    pairs = {frozenset((source, target)) for source, targets in TRANSITIONS.items() for target in targets.values()}
    drawn = [frozenset(edge.pair.split("-")) for edge in EMPTY.edges]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {frozenset(map(str, pair)) for pair in pairs}


@together
@pytest.mark.parametrize("edge", EMPTY.edges, ids=lambda edge: edge.pair)
def test_a_line_stays_within_the_picture(edge):
    numbers = [float(n) for n in re.findall(r"[MHV](-?[\d.]+)", edge.path)]
    assert numbers
    assert all(0 < n < max(WIDTH, HEIGHT) for n in numbers)
    horizontal = [float(n) for n in re.findall(r"H(-?[\d.]+)", edge.path)]
    assert all(0 < n < WIDTH for n in horizontal)


def test_the_path_taken_is_marked_by_its_transitions():
    moments = moments_of(fold(cut_twice()))
    diagram = diagram_of(moments)
    assert sorted(n for edge in diagram.edges for n in edge.at) == [m.number for m in moments]
    assert sorted(n for node in diagram.nodes for n in node.at if n) == [m.number for m in moments]


def when(now: int) -> dict[str, str]:
    return {node.state: node.when for node in diagram_of(moments_of(fold(cut_twice())), now).nodes}


def test_a_state_is_current_past_or_future():
    assert when(2)["evaluate_stop"] == "now"
    assert (when(3)["evaluate_stop"], when(3)["continue_pending"]) == ("past", "now")
    assert when(2)["continue_pending"] == "future"
    assert (when(1)["idle"], when(1)["abort"]) == ("past", "future")


def label(now: int, state: str) -> str:
    return next(node.label for node in diagram_of(moments_of(fold(cut_twice())), now).nodes if node.state == state)


def test_a_label_counts_the_uses_of_its_trigger():
    assert [label(now, "continue_pending") for now in (2, 3, 5, 6)] == ["", "max_tokens", "max_tokens", "max_tokens ×2"]


def test_every_possible_label_stays_within_the_picture():
    """9.5 px of this face are at most 5.7 wide a character; ends happen once and are not counted."""
    for source, targets in TRANSITIONS.items():
        for trigger, target in targets.items():
            word = "release" if source is State.HELD and trigger.startswith("release_") else trigger.value
            times = " ×99" if TRANSITIONS[target] else ""
            node = next(node for node in EMPTY.nodes if node.state == target)
            assert 5.7 * len(word + times) <= node.before_arrow < WIDTH, (source, trigger)


def test_every_entered_state_links_to_a_step():
    nodes = {node.state: node for node in diagram_of(moments_of(fold(cut_twice()))).nodes}
    assert (nodes["idle"].first, nodes["evaluate_stop"].first, nodes["abort"].first) == (1, 2, 0)
    assert nodes["evaluate_stop"].entered == "3 times"
