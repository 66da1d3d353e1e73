"""The suggestions for the turns of a list, which cost the same few statements however many turns there are.

What `suggestion_for` reads of one turn is read of all of them first (`dashboard.turns.read_ahead`), and so is what
turns like them used of a limit; of turns that need no limit, their rows alone. What the calls of a model bear out is
read by model, and kept for a minute.

Also holds turns in the order of the limit that would have sufficed: limit by limit, each by its value.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from django.db import connection

from agentcore.errors import CoreError
from agentcore.policy import LIMIT_NAMES
from dashboard.agents.models import Connection, Project
from dashboard.policies.suggestions.limit_trials import TriedLimit
from dashboard.policies.suggestions.limit_usage import usage_of_list, usage_of_none
from dashboard.policies.suggestions.need_by_row import may_need_a_limit
from dashboard.policies.suggestions.relatives import GENERATIONS, UNREAD, newest
from dashboard.policies.suggestions.selectors import cases_of, proving_rerun
from dashboard.policies.suggestions.suggestion import Goal, Suggestion
from dashboard.policies.suggestions.suggestion_cache import remembered, suggestion_now
from dashboard.turns.end_summary import is_doubtful
from dashboard.turns.history import attempts_of_all
from dashboard.turns.models import Turn
from dashboard.turns.nodes import read_all
from dashboard.turns.read_ahead import ReadAhead, reading_ahead
from dashboard.turns.record_reader import acts_of, records_of_all
from dashboard.turns.shared_values import UNREADABLE
from dashboard.turns.sort_order import Place

#: What of a turn tells whether it may need a limit, and which suggestion is remembered.
ROW = (
    "project_id",
    "status",
    "continuations",
    "envelope_retries",
    "tool_repairs",
    "terminal_reason",
    "verdict",
    "last_seq",
    "lint",
    "cut_sign",
)

#: Each of these turns, and those that it runs again: its own id, theirs, and how far away they are.
LINES = """
WITH RECURSIVE line (of, id, parent_id, n) AS (
    SELECT id, id, parent_id, 1 FROM turns_turn WHERE id = ANY(%(ids)s)
    UNION ALL
    SELECT line.of, turn.id, turn.parent_id, n + 1
      FROM line JOIN turns_turn turn ON turn.id = line.parent_id WHERE n < %(most)s
)
SELECT of, id FROM line
"""


def suggestions_lately(ids: Collection[UUID]) -> Mapping[UUID, Suggestion | None]:
    """By turn, of those that are still there; None where no limit is missing, or none is known. As
    `suggestion_lately`."""
    rows = _rows(ids)
    asked = [row for row in rows if may_need_a_limit(row)]
    known = {row.id: found[0] for row in asked if (found := remembered(row)) is not None}
    known |= _found([row.id for row in asked if row.id not in known])
    return {row.id: known.get(row.id) for row in rows}


def suggestions_now(ids: Collection[UUID], project: Project) -> list[tuple[Turn, Suggestion | None]]:
    """Found anew, of the turns of a project that are still there. Of a turn, only the columns of `ROW` are read."""
    rows = [row for row in _rows(ids) if row.project_id == project.id]
    found = _found([row.id for row in rows if may_need_a_limit(row)])
    return [(row, found.get(row.id)) for row in rows]


def suggestions_of(turns: Collection[Turn]) -> Mapping[UUID, Suggestion | None]:
    """By turn, found anew, of turns that the caller has read and that may need a limit."""
    return _found([turn.id for turn in turns])


def _rows(ids: Iterable[UUID]) -> list[Turn]:
    """These turns without what refers to nodes: of most that is not read."""
    return list(Turn.objects.filter(id__in=[*ids]).only(*ROW))


def _found(ids: list[UUID]) -> dict[UUID, Suggestion | None]:
    """By turn, found anew."""
    if not ids:
        return {}
    with reading_ahead() as held:
        turns = _turns(held, ids)
        _read(held, [*turns.values()])
        return {turn.id: suggestion_now(turn) for turn in turns.values()}


def _turns(held: ReadAhead, ids: Iterable[UUID], *, without: Collection[str] = ()) -> dict[UUID, Turn]:
    """These turns, `without` some columns; first the nodes that their columns, and later their records, refer to."""
    wanted = list(ids)
    heads = Turn.objects.filter(id__in=wanted).order_by().values_list("node_id", "shared_id")
    nodes = {head for pair in heads for head in pair if head is not None} - held.nodes.keys()
    if nodes:
        held.nodes.update(read_all(nodes))
    return Turn.objects.select_related("agent__connection", "project").defer(*without).in_bulk(wanted)


def _read(held: ReadAhead, turns: list[Turn]) -> None:
    if not turns:
        return
    ids = [turn.id for turn in turns]
    held.records.update(records_of_all(ids))
    _read_relatives(held, turns)
    projects = {turn.project_id for turn in turns}
    held.connections.update({project: [] for project in projects})
    for each in Connection.objects.filter(project_id__in=projects).order_by("id"):
        held.connections[each.project_id].append(each)
    tried = [each for turn in turns for each in _cases(turn)]
    asked = (each.case for each in tried if each.case.goal is Goal.FINISH)  # else its own recording tells that
    held.usage.update(usage_of_list((case.turn, case.counted) for case in asked))
    proving = {found.id for each in tried if (found := proving_rerun(each)) is not None}
    held.records.update(records_of_all(proving - held.records.keys()))
    held.attempts.update(attempts_of_all(proving - held.attempts.keys()))


def _cases(turn: Turn) -> tuple[TriedLimit, ...]:
    """None of a turn whose history cannot be read."""
    try:
        return cases_of(turn, usage_of_none)  # what others used is read next
    except (CoreError, *UNREADABLE):
        return ()


def _read_relatives(held: ReadAhead, turns: list[Turn]) -> None:
    lines = _lines([turn.id for turn in turns])
    kept = _kept(turns, lines)
    others = {turn_id for found in (*lines.values(), *kept.values()) for turn_id in found} - {turn.id for turn in turns}
    known = {turn.id: turn for turn in turns} | (_turns(held, others, without=UNREAD) if others else {})
    for turn in known.values():
        if turn.parent_id in known:
            turn.parent = known[turn.parent_id]
    held.relatives.update({turn: [known[each] for each in sorted(kept[turn]) if each in known] for turn in lines})
    held.first_records.update(records_of_all(others, upto=1))
    doubtful = {each.id for each in known.values() if is_doubtful(each)}
    held.attempts.update(attempts_of_all(doubtful.union(*lines.values())))
    held.acts.update({turn_id: [] for turn_id in others})
    for record in acts_of([*others]) if others else ():
        held.acts[record.turn_id].append(record)


def _lines(ids: list[UUID]) -> dict[UUID, set[UUID]]:
    """Each turn, and those that it runs again."""
    lines: dict[UUID, set[UUID]] = {turn_id: set() for turn_id in ids}
    with connection.cursor() as cursor:
        cursor.execute(LINES, {"ids": ids, "most": GENERATIONS})
        for of, turn_id in cursor.fetchall():
            lines[of].add(turn_id)
    return lines


def _kept(turns: list[Turn], lines: Mapping[UUID, set[UUID]]) -> dict[UUID, set[UUID]]:
    """Of each turn those that may have been asked the same, as `relatives_of` finds them."""
    near = {turn_id for line in lines.values() for turn_id in line}
    children = _by_parent(near)
    family = {*near, *(child for found in children.values() for child in found)}
    if family == {turn.id for turn in turns} and not children:
        return {turn.id: set() for turn in turns}
    began = Turn.objects.filter(base_snapshot__isnull=True, model__in={turn.model for turn in turns})
    columns = ("id", "parent_id", "status", "model")
    rows = {row[0]: row for row in began.filter(parent_id__in=family).order_by().values_list(*columns)}
    rows |= {row[0]: row for row in began.filter(id__in=near).order_by().values_list(*columns)}
    return {turn.id: _kept_of(turn, lines[turn.id], children, rows.values()) for turn in turns}


def _by_parent(parents: set[UUID]) -> dict[UUID, set[UUID]]:
    found = defaultdict[UUID, set[UUID]](set)
    for child, parent in Turn.objects.filter(parent_id__in=parents).order_by().values_list("id", "parent_id"):
        if parent is not None:
            found[parent].add(child)
    return found


def _kept_of(
    turn: Turn, line: set[UUID], children: Mapping[UUID, set[UUID]], rows: Iterable[tuple[UUID, UUID | None, str, str]]
) -> set[UUID]:
    own = {child for each in line for child in children.get(each, ())}
    if len(line) == 1 and not own:
        return set()
    family = {*line, *own}
    found = {
        each: status
        for each, parent, status, model in rows
        if (parent in family or each in line) and model == turn.model and each != turn.id
    }
    return newest(line, found)


_LIMITS = tuple(LIMIT_NAMES)  #: what counts in one unit stands together, in the order in which people are shown limits


def limit_orders(ids: Collection[UUID]) -> Mapping[UUID, Place | None]:
    """By turn; None where no limit is missing. The history of each turn is read. A limit of which no value is known
    comes after those that have one."""
    return {turn_id: _order(said) for turn_id, said in suggestions_lately(ids).items()}


def _order(said: Suggestion | None) -> Place | None:
    if said is None:
        return None
    limit = f"{_LIMITS.index(said.limit):02d}"
    return (0, f"{limit} {said.value:020.3f}") if said.sufficient else (1, limit)
