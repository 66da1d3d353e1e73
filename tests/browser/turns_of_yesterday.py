"""What an installation had to do yesterday: turns of several models with their whole histories, some of them cut off.

`manage.py shell -c "from tests.browser.turns_of_yesterday import fill; fill('AGENT')"` stores them, all or nothing.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import transaction

from agentcore import Policy, TokenUsage, serial
from agentcore.events import Started
from agentcore.messages import ChatResponse, Message, Role
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.models import Agent
from dashboard.agents.selectors import project_default
from dashboard.bench import generated_histories
from dashboard.bench.bulk_load import id_at
from dashboard.bench.turn_mix import Mix
from dashboard.live.services import setup_of
from dashboard.simulator.texts import ESSAY, tokens_of
from dashboard.turns.models import Turn

#: What the essay's agent was asked, and the tokens it had for a call. With 60 four calls do not do; with 150 three do.
ASKED = (
    ("Describe last night's incident for the team.", 60),
    ("Why did the export stop at step seven?", 60),
    ("What should the runbook say about limits?", 150),
    ("Summarize what we know of truncation.", 60),
    ("Draft the note to our customers.", 400),
)
OTHERS = 24  #: turns of another model, by agents that are gone


@transaction.atomic
def fill(essayist: str) -> None:
    """Yesterday's turns, from its first hour to its last, in UTC. `essayist`: the agent that says the essay."""
    now = datetime.now(UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    midnight = today - timedelta(days=1)
    # What the suite itself did before midnight, where it runs over it, is of today.
    Turn.objects.filter(created_at__gte=midnight, created_at__lt=today).update(created_at=now)
    mix = Mix(seed=3)
    for n in range(OTHERS):
        at = midnight + timedelta(minutes=55 * n + 5)
        generated_histories.make(project=project_default(), mix=mix, turn=Turn(id=id_at(at, mix.chance)), at=at)
    agent = Agent.objects.select_related("connection").get(name=essayist)
    for n, (prompt, max_tokens) in enumerate(ASKED):
        at = midnight + timedelta(hours=4 * n + 2)
        _told(Turn(id=id_at(at, mix.chance)), agent, prompt, max_tokens, at)


def _told(turn: Turn, agent: Agent, prompt: str, max_tokens: int, at: datetime) -> None:
    """One turn of the agent, as its driver would have recorded it then."""
    policy, setup, said = Policy(max_tokens=max_tokens), setup_of(agent, str(turn.id)), Message(Role.USER, prompt)
    turn.project, turn.agent, turn.agent_name = agent.project, agent, agent.name
    turn.provider, turn.model = agent.connection.provider, agent.model
    turn.input_text, turn.max_tokens, turn.policy = prompt, max_tokens, serial.to_json(policy)
    turn.overrides = {"max_tokens": max_tokens}
    turn.setup = {"setup": serial.to_json(setup), "messages": [serial.to_json(said)]}
    turn.save(force_insert=True)
    Turn.objects.filter(id=turn.id).update(created_at=at)
    generated_histories.tell(turn, policy, Started(0.0, setup, (said,)), _essay(max_tokens), at)


def _essay(max_tokens: int) -> Iterator[ChatResponse]:
    """What the simulator says, in answers of so many tokens."""
    tokens = list(tokens_of(ESSAY))
    for since in range(0, len(tokens), max_tokens):
        piece, cut = tokens[since : since + max_tokens], since + max_tokens < len(tokens)
        reason = NormalizedStopReason.MAX_TOKENS if cut else NormalizedStopReason.END_TURN
        usage = TokenUsage(40, len(piece))
        yield ChatResponse("".join(piece), usage=usage, stop_reason=reason, raw_stop_reason="length" if cut else "stop")
