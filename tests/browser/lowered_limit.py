"""A month of an agent whose limit somebody lowered last week: turns that ended before, and turns that were cut since.

`manage.py shell -c "from tests.browser.lowered_limit import fill; fill()"` stores them, all or nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from django.db import transaction

from agentcore import TokenUsage, serial
from agentcore.events import Started
from agentcore.messages import ChatResponse, Message, Role
from agentcore.reasons import NormalizedStopReason
from dashboard.accounts.models import User
from dashboard.agents.models import Agent, Connection
from dashboard.agents.policy_layers import effective_policy_for
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create
from dashboard.bench import generated_histories
from dashboard.bench.bulk_load import id_at
from dashboard.bench.turn_mix import Mix
from dashboard.live.services import setup_of
from dashboard.policies.policy_creation import policy_create
from dashboard.turns.models import Turn

AGENT, POLICY, PERSON = "support-writer", "support", "bob"
WHY = "Long answers cost too much."
#: Days ago: made with five continuations; lowered to one.
MADE, LOWERED = 29, 6
MAX_TOKENS = 100
MODEL = "gpt-4o-mini"  #: whose price is known; the agent is on the simulator's since
TURNS = 84  #: three a day
PROMPTS = (
    "Write the answer to ticket 4711.",
    "Summarize the customer's month.",
    "Explain the invoice of March.",
    "What changed in release 2.4?",
)


@transaction.atomic
def fill() -> None:
    """The policy's two versions and the turns under them, the last of them an hour ago."""
    now = datetime.now(UTC)
    person = User.objects.create_user(PERSON)
    project = project_default()
    with patch("django.utils.timezone.now", return_value=now - timedelta(days=MADE)):
        wide = policy_create(project=project, name=POLICY, limits={"max_continuations": 5}, why="A start.")
    with patch("django.utils.timezone.now", return_value=now - timedelta(days=LOWERED)):
        policy_create(project=project, name=POLICY, limits={"max_continuations": 1}, created_by=person, why=WHY)
    model = Agent.objects.get(name="sim-essay")
    agent = agent_create(
        project=project,
        name=AGENT,
        connection=Connection.objects.get(pk=model.connection_id),
        model="sim-essay",
        max_tokens=MAX_TOKENS,
        policy=wide.policy,
    )
    mix = Mix(seed=6)
    for n in range(TURNS):
        _told(agent, mix, n, now - timedelta(days=28) * (1 - n / TURNS) - timedelta(hours=1))


def _told(agent: Agent, mix: Mix, n: int, at: datetime) -> None:
    """One turn, as its driver would have recorded it then."""
    standing = effective_policy_for(agent, {}, at=at)
    policy = replace(standing.policy, max_tokens=MAX_TOKENS)
    turn = Turn(id=id_at(at, mix.chance), project=agent.project, agent=agent, agent_name=agent.name)
    prompt = PROMPTS[n % len(PROMPTS)]
    setup, said = replace(setup_of(agent, str(turn.id)), model=MODEL), Message(Role.USER, prompt)
    turn.provider, turn.model = agent.connection.provider, MODEL
    turn.input_text, turn.max_tokens, turn.policy = prompt, MAX_TOKENS, serial.to_json(policy)
    turn.policy_version, turn.policy_sources = standing.version, standing.resolved.stored()
    turn.setup = {"setup": serial.to_json(setup), "messages": [serial.to_json(said)]}
    turn.save(force_insert=True)
    Turn.objects.filter(id=turn.id).update(created_at=at)
    generated_histories.tell(
        turn, policy, Started(0.0, setup, (said,)), _answers(mix, cuts=(0, 1, 0, 2, 3, 0, 1)[n % 7]), at
    )


def _answers(mix: Mix, cuts: int) -> Iterator[ChatResponse]:
    """As many cut ones, then one that ends within its cap; of other lengths each time."""
    for n in range(cuts + 1):
        cut = n < cuts
        tokens = MAX_TOKENS if cut else mix.chance.randrange(12, MAX_TOKENS)
        text = " ".join(mix.text(30, 60).split()[: max(8, tokens // 2)])
        reason = NormalizedStopReason.MAX_TOKENS if cut else NormalizedStopReason.END_TURN
        usage = TokenUsage(400 + n * MAX_TOKENS, tokens)
        yield ChatResponse(text + " ", usage=usage, stop_reason=reason, raw_stop_reason="length" if cut else "stop")
