"""What the socket of a conversation's page shows: the parts whose keys differ from those a page was made with."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple, cast
from uuid import UUID

from django.http import QueryDict

from dashboard.agents.models import Agent
from dashboard.agents.selectors import agent_get, project_current
from dashboard.live.conversations.page_context import (
    PARTS,
    ConversationView,
    begun_at,
    changed,
    conversation_view,
    number_from,
    rendered,
    uuid_from,
)
from dashboard.live.conversations.selectors import conversation_get
from dashboard.live.scenes import Scene
from dashboard.platform.notifications import TIMELINE_GROUP
from dashboard.turns.conversations.models import Conversation

#: Parts that may be as they were when the page was made, and have been otherwise in between.
RETURNING = ("heading", "line", "others")


class DisplayedParts(NamedTuple):
    """What a page shows of a conversation: the keys of its parts, and the position of the first turn it has."""

    keys: tuple[tuple[str, str], ...] = ()
    since: int | None = None


class ConversationScene(Scene):
    """One conversation with an agent, or, where the page has none yet, what else was said to the agent."""

    group = TIMELINE_GROUP
    pace = 0.3

    def __init__(self, name: str, conversation: UUID | None) -> None:
        self.subject = self.name, self.conversation = name, conversation
        self.talk: ConversationView | None = None  #: None: the agent or the conversation is gone, or was not looked at
        self._rendered: dict[tuple[str, str], str] = {}  #: of this look, by part and key

    def look(self) -> None:
        project = project_current()
        self._rendered = {}
        try:
            agent = agent_get(project=project, name=self.name)
            talk = conversation_get(self.conversation, project=project) if self.conversation else None
            self.talk = conversation_view(agent, talk)
        except (Agent.DoesNotExist, Conversation.DoesNotExist):
            self.talk = None

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        if self.talk is None:
            return [], shows
        page = cast("DisplayedParts | None", shows) or DisplayedParts()
        now = begun_at(self.talk, page.since)
        before: Mapping[str, str] = dict(page.keys)
        if now.conversation is None:
            # Such a page may show a turn of its own; only the list beside it is kept up to date.
            before = {**now.keys, "others": before.get("others", "")}
        told = [self._part(now, part) for part in changed(before, now.keys)]
        return told, DisplayedParts(tuple(now.keys.items()), now.since)

    def _part(self, now: ConversationView, part: str) -> str:
        key = (part, now.keys[part])
        if key not in self._rendered:
            self._rendered[key] = rendered(now, part)
        return self._rendered[key]


def watch_conversation(given: QueryDict, /, *, name: str) -> tuple[Scene, Hashable]:
    """A page says which conversation it shows, from which turn on, and by `keys` the parts it was made of. One that
    comes again may have been pushed others since."""
    known = [part for part in PARTS if not ("again" in given and part in RETURNING)]
    keys = tuple((part, str(given[part])) for part in known if part in given)
    return (
        ConversationScene(name, uuid_from(given.get("conversation"))),
        DisplayedParts(keys, number_from(given.get("from"))),
    )
