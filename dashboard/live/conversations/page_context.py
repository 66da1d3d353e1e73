"""The template context of a conversation's page: five parts, each with a key that tells whether it has changed.

A page says with these keys what it shows already, so whoever connects, for the first time or again, is sent what
differs and nothing else. The text that streams is the newest turn's own affair: it has its own socket.

Parses URL parameters: ids of conversations and turns, positions in a conversation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.template.loader import render_to_string

from dashboard.agents.models import Agent
from dashboard.live.conversations.selectors import TurnPlace, places_of, titled, turns_at
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.meters import Meter
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.selectors import turn_get
from dashboard.turns.views import turn_context

SHOWN = 10  #: turns before the newest that a page begins with
OTHERS = 20  #: conversations of the agent that are listed
PARTS = ("heading", "transcript", "newest", "line", "others")


@dataclass(frozen=True, slots=True)
class TurnLayout:
    """The turns of a conversation by where they stand: under way or last (`newest`), before it, waiting after it."""

    said: tuple[TurnPlace, ...] = ()
    newest: TurnPlace | None = None
    line: tuple[TurnPlace, ...] = ()


def turn_layout(places: Iterable[TurnPlace]) -> TurnLayout:
    """The newest is the first that has not ended, else the last that has begun."""
    every = tuple(places)
    unfinished = tuple(place for place in every if place.status in UNFINISHED)
    begun = tuple(place for place in every if place.seq)
    newest = next(iter(unfinished), begun[-1] if begun else None)
    return TurnLayout(
        said=tuple(place for place in every if place != newest and place not in unfinished[1:]),
        newest=newest,
        line=unfinished[1:],
    )


@dataclass(frozen=True, slots=True)
class ConversationView:
    """What a page shows. `since`: the position of the first turn it has; `alone`: a turn of no conversation."""

    agent: Agent
    conversation: Conversation | None
    turns: TurnLayout
    used: int
    since: int
    others: tuple[Conversation, ...]
    alone: Turn | None = None

    @property
    def before(self) -> int:
        """How many turns the page leaves out."""
        return sum(place.position < self.since for place in self.turns.said)

    @property
    def back(self) -> int:
        """From where on the page shows turns once earlier ones are asked for."""
        return max(1, self.since - SHOWN)

    @property
    def shown(self) -> tuple[TurnPlace, ...]:
        """The turns before the newest that the page has."""
        return tuple(place for place in self.turns.said if place.position >= self.since)

    @property
    def count(self) -> int:
        return len(self.turns.said) + len(self.turns.line) + (self.turns.newest is not None)

    @property
    def used_by_others(self) -> int:
        """Tokens of all turns but the newest."""
        return self.used - (self.turns.newest.tokens if self.turns.newest else 0)

    @property
    def meter(self) -> Meter | None:
        """The conversation's budget."""
        budget = self.conversation.token_budget if self.conversation else None
        return None if budget is None else Meter("Conversation budget", self.used, budget, "tokens")

    @property
    def newest(self) -> Turn | None:
        """The newest turn with all that its parts are made of."""
        return turn_get(self.turns.newest.id) if self.turns.newest else self.alone

    @property
    def keys(self) -> Mapping[str, str]:
        """By part: the positions and sequence numbers it was made at."""
        newest = self.turns.newest
        budget = self.conversation.token_budget if self.conversation else None
        others = "".join(f"{other.pk}{other.title}" for other in self.others)
        return {
            "heading": f"{self.count}.{self.used}.{'' if budget is None else budget}",
            "transcript": "-".join(f"{place.position}.{place.seq}" for place in self.shown),
            "newest": newest.id.hex if newest else "",
            "line": "-".join(str(place.position) for place in ((newest, *self.turns.line) if newest else ())),
            "others": sha256(others.encode()).hexdigest()[:12],
        }

    @property
    def query(self) -> str:
        """What the page tells its socket."""
        named = {"conversation": self.conversation.pk.hex, "from": self.since} if self.conversation else {}
        return urlencode({**named, **self.keys})


def conversation_view(
    agent: Agent, conversation: Conversation | None, *, since: int | None = None, alone: Turn | None = None
) -> ConversationView:
    """The conversation from the turn at position `since` on, or the last few turns of it."""
    places = places_of(conversation) if conversation else []
    turns = turn_layout(places)
    first = turns.said[-SHOWN:][0].position if turns.said else 1
    others = tuple(titled(agent_id=agent.pk, limit=OTHERS))
    return ConversationView(
        agent, conversation, turns, sum(place.tokens for place in places), since or first, others, alone
    )


def begun_at(talk: ConversationView, since: int | None) -> ConversationView:
    """The conversation as a page shows it that begins with the turn at this position; None: as it is."""
    return talk if since is None else replace(talk, since=since)


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The parts to send, in the order of the page."""
    return [part for part in PARTS if before.get(part) != now[part]]


def part_context(talk: ConversationView, part: str) -> dict[str, Any]:
    """What a part is rendered from."""
    context: dict[str, Any] = {"talk": talk, "agent": talk.agent}
    match part:
        case "transcript":
            context["said"] = turns_at(talk.shown)
        case "newest":
            newest = talk.newest
            context |= turn_context(newest) if newest else {}
        case "line":
            newest = talk.newest
            context |= {"line": turns_at(talk.turns.line), "under_way": newest}
    return context


def page_context(talk: ConversationView) -> dict[str, Any]:
    """What all parts together are rendered from."""
    context: dict[str, Any] = {}
    for part in PARTS:
        context |= part_context(talk, part)
    return context


def rendered(talk: ConversationView, part: str) -> str:
    """One part, to take the place of what a page shows of it."""
    return render_to_string(f"conversations/_{part}.html", {**part_context(talk, part), "oob": True})


def uuid_from(text: str | None) -> UUID | None:
    """None for what names nothing."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def number_from(text: str | None) -> int | None:
    """A position, from 1; None for what is none."""
    return int(text) or None if text and text.isascii() and text.isdigit() and len(text) < 6 else None
