"""The family of a turn: all it was re-run from and all that was re-run from it, with what each says otherwise."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

from django.db import connection

from agentcore.number_format import count
from agentcore.policy import SETTING_NAMES, Limits
from dashboard.agents.limit_fields import setting
from dashboard.agents.policy_validation import HANDLING_KEYS
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import Price
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.sent_caps import cap_in_words

MOST = 400  #: turns of one family that are shown
UNREAD = ("output_text", "setup", "base_snapshot", "breakpoints", "error_message", "envelope")

FAMILY = """
WITH RECURSIVE up AS (
    SELECT id, parent_id, 0 AS height FROM turns_turn WHERE id = %(turn)s
    UNION ALL
    SELECT turn.id, turn.parent_id, up.height + 1 FROM turns_turn turn JOIN up ON turn.id = up.parent_id
     WHERE up.height < %(most)s
), root AS (SELECT id FROM up ORDER BY height DESC LIMIT 1),
down AS (
    SELECT id, 0 AS depth FROM root
    UNION ALL
    SELECT turn.id, down.depth + 1 FROM turns_turn turn JOIN down ON turn.parent_id = down.id
     WHERE down.depth < %(most)s
)
SELECT id FROM down ORDER BY depth, id LIMIT %(most)s + 1
"""


@dataclass(frozen=True, slots=True)
class Member:
    """One turn of a family. `changed`: what it says otherwise than its parent, in words."""

    turn: Turn
    changed: tuple[str, ...]
    price: Price | None
    here: bool
    children: tuple["Member", ...] = ()

    @property
    def reason(self) -> str:
        return self.turn.terminal_reason or self.turn.stop_reason or self.turn.status


@dataclass(frozen=True, slots=True)
class Lineage:
    root: Member
    count: int
    more: bool  #: there are more than are shown


def lineage_of(turn: Turn) -> Lineage | None:
    """The whole family; None where a turn is alone."""
    with connection.cursor() as cursor:
        cursor.execute(FAMILY, {"turn": turn.id, "most": MOST})
        ids: list[UUID] = [row[0] for row in cursor.fetchall()]
    if len(ids) < 2:
        return None
    found = Turn.objects.defer(*UNREAD).in_bulk(ids[:MOST])
    prices = prices_of(found.values())
    members: dict[UUID, Member] = {}
    children: dict[UUID | None, list[UUID]] = {}
    for turn_id in ids[:MOST]:
        children.setdefault(found[turn_id].parent_id, []).append(turn_id)
    for turn_id in reversed(ids[:MOST]):
        one = found[turn_id]
        changed = tuple(changes(one, found.get(one.parent_id)))
        under = tuple(members[child] for child in children.get(turn_id, ()))
        members[turn_id] = Member(one, changed, prices[turn_id], turn_id == turn.id, under)
    return Lineage(members[ids[0]], len(found), len(ids) > MOST)


def member_of(turn: Turn) -> Member:
    """One turn without its relatives: what became of it, and what it cost."""
    return Member(turn, (), prices_of([turn])[turn.id], here=False)


def changes(child: Turn, parent: Turn | None) -> Iterator[str]:
    """What a re-run says otherwise than the turn it came from."""
    if parent is None:
        return
    if child.max_tokens != parent.max_tokens:
        was, now = cap_in_words(parent.max_tokens), cap_in_words(child.max_tokens)
        yield f"{SETTING_NAMES['max_tokens']} {was} → {now}"
    yield from _numbers(parent.policy, child.policy)
    if child.model != parent.model:
        yield f"model {parent.model} → {child.model}"
    if child.overrides.get("connection") != parent.overrides.get("connection"):
        yield f"at {child.overrides.get('connection') or 'the connection of its agent'}"
    if child.policy.get("system_prompt") != parent.policy.get("system_prompt"):
        yield "new system prompt"
    yield from _said(child.overrides.get("said", {}))


def _numbers(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    pairs = [("limits", field.name) for field in fields(Limits)]
    pairs += [("error_policy", key) for key in ("max_retries", *HANDLING_KEYS)]
    for part, name in pairs:
        was, now = before.get(part, {}).get(name), after.get(part, {}).get(name)
        if was != now:
            yield _changed(name, was, now)
    cut = "tool_calls_on_truncation"
    if before.get(cut) != after.get(cut):
        yield _changed(cut, before.get(cut), after.get(cut))


def _changed(key: str, was: Any, now: Any) -> str:
    return f"{SETTING_NAMES[key]} {_word(key, was)} → {_word(key, now)}"


def _word(key: str, value: Any) -> str:
    if value is None:
        return "none"
    return setting(key, value) if isinstance(value, int | float) else str(value).replace("_", " ")


def _said(said: Mapping[str, Any]) -> Iterator[str]:
    if said.get("went_on"):
        yield "continued live where the recording ends"
    if estimates := said.get("estimates"):
        yield f"without {count(estimates, 'likely record')} of the what-if"
    places = said.get("messages", [])
    if places:
        yield f"message{'s' if len(places) > 1 else ''} {', '.join(map(str, places))} rewritten"
    if said.get("left_out"):
        yield f"without the caller's {', '.join(said['left_out'])}"
    if said.get("results"):
        yield f"{len(said['results'])} tool result{'s' if len(said['results']) > 1 else ''} given"
    if said.get("breakpoints"):
        yield f"{said['breakpoints']} breakpoint{'s' if said['breakpoints'] > 1 else ''}"
