"""The socket of a conversation's page. It sends the parts whose keys differ from those the page was made with."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from dashboard.agents.models import Agent
from dashboard.agents.selectors import agent_get, project_default
from dashboard.conversations.models import Conversation
from dashboard.conversations.places import number_of, uuid_of
from dashboard.conversations.selectors import conversation_get
from dashboard.conversations.showing import PARTS, changed, rendered, talk_of
from dashboard.live.announcing import TIMELINE_GROUP
from dashboard.live.watching import Watcher


class ConversationConsumer(Watcher):
    """One conversation with an agent, or, where the page has none yet, what else was said to the agent."""

    group = TIMELINE_GROUP
    pace = 0.3

    def begin(self, given: QueryDict, /, **route: Any) -> None:
        self.name: str = route["name"]
        self.conversation = uuid_of(given.get("conversation"))
        self.since = number_of(given.get("from"))
        self.keys: Mapping[str, str] = {part: str(given[part]) for part in PARTS if part in given}

    def is_waiting(self) -> bool:
        return True

    def news(self) -> list[str]:
        """Nothing where the agent or the conversation is gone."""
        project = project_default()
        try:
            agent = agent_get(project=project, name=self.name)
            talk = conversation_get(self.conversation, project=project) if self.conversation else None
        except (Agent.DoesNotExist, Conversation.DoesNotExist):
            return []
        now = talk_of(agent, talk, since=self.since)
        # A page without a conversation may show a turn of its own; only the list beside it is kept up to date.
        known = self.keys if talk else {**now.keys, "others": self.keys.get("others", "")}
        parts, self.keys, self.since = changed(known, now.keys), now.keys, now.since
        return [rendered(now, part) for part in parts]
