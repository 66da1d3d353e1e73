"""The turns that were asked the same as another one: its re-runs, the turn it runs again, and that one's re-runs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import ForeignKey, Q

from agentcore import serial
from agentcore.events import Setup
from agentcore.reasons import TurnStatus
from dashboard.agents.policies import stored_policy
from dashboard.live.turn_loader import connection_of
from dashboard.replay.rerun_changes import said_at
from dashboard.replay.selectors import origin_of
from dashboard.turns.end_summary import is_doubtful
from dashboard.turns.history import attempts_read_ahead, begun_as
from dashboard.turns.models import Turn
from dashboard.turns.read_ahead import once, read_ahead
from dashboard.turns.record_reader import records_of_all

#: Of what a turn began with: the id is each turn's own, and how many tokens it asks for is one of the limits.
OWN = ("turn_id", "parent", "max_tokens")
GROUPS = ("limits", "error_policy")  #: overrides that hold several settings
#: Columns of other turns that nothing here asks for; some are large.
UNREAD = (
    "input_text", "output_text", "notice", "verdict", "policy_sources", "history_keys", "breakpoints", "envelope",
    "tags",
)  # fmt: skip
MOST = 50  #: re-runs that are looked at: the newest, and the newest that completed; a sweep makes a dozen
GENERATIONS = 8  #: of ancestors that are asked for; a line of re-runs is seldom longer than two


def relatives_of(turn: Turn) -> list[Turn]:
    """Those that began at the start with the same words, asked of the same model in the same way; the oldest first. A
    fork is asked what its parent is, unless its conversation was changed: it asks something else from then on. Of many,
    the turns that it runs again, the newest `MOST` others, and the newest `MOST` that completed, which prove a value.
    """
    return once(("relatives", turn.id), lambda: _relatives_of(turn))


def _relatives_of(turn: Turn) -> list[Turn]:
    known = read_ahead().relatives.get(turn.id)
    if known is not None:
        return _asked_the_same(turn, known) if known and not is_reworded(turn) else []
    near = _line_of(turn)
    children = set(Turn.objects.filter(parent_id__in=near).order_by().values_list("id", flat=True))
    if len(near) == 1 and not children:
        return []
    began = [] if is_reworded(turn) else _begun(near, children, turn)
    _read_together([turn, *began])
    return _asked_the_same(turn, began) if began else []


def _read_together(turns: Sequence[Turn]) -> None:
    """What is asked of each of them next, by two statements for all."""
    held = read_ahead()
    if held.answers is not None:
        began = [each.id for each in turns if each.id not in held.first_records]
        held.first_records.update(records_of_all(began, upto=1))
        attempts_read_ahead([each.id for each in turns[1:] if is_doubtful(each)])


def _begun(near: Collection[UUID], children: Collection[UUID], turn: Turn) -> list[Turn]:
    """Those of the same model that began at the start: the line itself, and of the others as above. Their ids come
    first, without an order, so that the database goes by parents and not through all turns."""
    family = Q(parent_id__in={*near, *children}) | Q(id__in=near)
    alike = Turn.objects.filter(family, model=turn.model, base_snapshot__isnull=True).exclude(id=turn.id)
    kept = newest(near, dict(alike.order_by().values_list("id", "status")))
    found = list(Turn.objects.filter(id__in=kept).defer(*UNREAD).order_by("id")) if kept else []
    for each in found:
        _share(turn, each)
    return found


def _share(turn: Turn, other: Turn) -> None:
    """A re-run is most often the same agent's: what was read of that is not read for each."""
    for name in ("project", "agent"):
        column = Turn._meta.get_field(name)
        assert isinstance(column, ForeignKey)
        if column.is_cached(turn) and getattr(other, column.attname) == getattr(turn, column.attname):
            column.set_cached_value(other, column.get_cached_value(turn))


def newest(near: Collection[UUID], found: Mapping[UUID, str]) -> set[UUID]:
    """Which of those `found`, with their statuses, are looked at. `near`: the line of the turn."""
    others = sorted(found.keys() - set(near))
    completed = [each for each in others if found[each] == TurnStatus.COMPLETED]
    return {*(found.keys() & set(near)), *others[-MOST:], *completed[-MOST:]}


def _line_of(turn: Turn) -> dict[UUID, Turn]:
    line, each = {turn.id: turn}, turn.parent
    while each is not None and len(line) < GENERATIONS:
        line[each.id], each = each, each.parent
    return line


def is_reworded(turn: Turn) -> bool:
    """Whether a message or a tool's result was changed on the way to this fork, which no re-run from the start asks."""
    while turn.base_snapshot is not None and turn.parent is not None:
        if {"messages", "results"} & (turn.overrides.get("said") or {}).keys():
            return True
        turn = turn.parent
    return False


def _asked_the_same(turn: Turn, others: Iterable[Turn]) -> list[Turn]:
    try:
        began = _asked_now(turn)
    except ValidationError:  # the start is not stored any more
        return []
    place = _place(turn)
    near = (each for each in others if _place(each) == place)
    # Their messages last, which of a gateway's turn are read from its first record.
    alike = (each for each in near if set_up_alike(_but_for_ceiling(began), _but_for_ceiling(each.setup)))
    return [each for each in alike if begun_as(each).get("messages") == began.get("messages")]


def _but_for_ceiling(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a re-run has shown still holds when the connection's ceiling is set."""
    setup = told.get("setup")
    return told if setup is None else {**told, "setup": {name: setup[name] for name in setup if name != "ceiling"}}


def _place(turn: Turn) -> str | None:
    """The connection that it asks, by name; None: its agent's. A call without an agent names it in its re-runs only."""
    other: str | None = turn.overrides.get("connection")
    if other is not None or turn.agent_id is not None:
        return other
    called = connection_of(turn)
    return None if called is None else called.name


def _asked_now(turn: Turn) -> Mapping[str, Any]:
    """What a re-run of the turn from its start would begin with: its connection may have been changed since."""
    began, connection = begun_as(origin_of(turn)), connection_of(turn)
    if connection is None or "setup" not in began:
        return began
    setup = said_at(serial.from_json(Setup, began["setup"]), connection)
    return {**began, "setup": serial.to_json(setup)}


def begin_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two turns begin with the same words, asked of the same model in the same way."""
    return one.get("messages") == other.get("messages") and set_up_alike(one, other)


def set_up_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """The same without the words."""
    if one.get("setup") is None or other.get("setup") is None:
        return False
    return asked_apart(one["setup"]) == asked_apart(other["setup"])


def asked_apart(setup: Mapping[str, Any]) -> dict[str, Any]:
    """What a turn began with, apart from what is its own."""
    return {name: value for name, value in setup.items() if name not in OWN}


def settings_changed(before: Turn, after: Turn) -> dict[str, Any]:
    """What the second turn runs under that the first does not, setting by setting."""
    if _but_for_cap(before.policy) == _but_for_cap(after.policy):  # most often; to read a policy takes far longer
        return {} if before.max_tokens == after.max_tokens else {"max_tokens": after.max_tokens}
    one, other = _settings(before), _settings(after)
    return {name: other.get(name) for name in one | other if one.get(name) != other.get(name)}


def _but_for_cap(policy: Mapping[str, Any]) -> dict[str, Any]:
    """As it is stored: the cap that counts is the turn's."""
    return {name: value for name, value in policy.items() if name != "max_tokens"}


def _settings(turn: Turn) -> dict[str, Any]:
    return {**flat(serial.to_json(stored_policy(turn.policy))), "max_tokens": turn.max_tokens}


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A policy or overrides, setting by setting."""
    parts = [settings.get(group) or {} for group in GROUPS]
    return {name: value for name, value in settings.items() if name not in GROUPS} | parts[0] | parts[1]
