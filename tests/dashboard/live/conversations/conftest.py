"""A conversation with an agent that answers shortly."""

from collections.abc import Callable

import pytest

from dashboard.agents.models import Agent
from dashboard.live.conversations.services import conversation_start
from dashboard.live.services import turn_start
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf

Say = Callable[..., Turn]


@pytest.fixture
def agent(agent_of: AgentOf) -> Agent:
    return agent_of("sim-essay")


@pytest.fixture
def conversation(agent: Agent) -> Conversation:
    return conversation_start(agent=agent)


@pytest.fixture
def say(agent: Agent, conversation: Conversation) -> Say:
    """A prompt in the conversation; the turn is not driven yet."""

    def send(text: str = "Why do agents stop?", **more: object) -> Turn:
        return turn_start(agent=agent, input_text=text, conversation=conversation, **more)

    return send
