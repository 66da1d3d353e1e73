"""Two agents of the simulator whose stored answers suggest a limit: that of one is enough for its essay, the other's is
not. `manage.py shell -c "from tests.browser.limit_trials import fill; fill()"` stores the answers."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from django.db import transaction

from agentcore import TokenUsage, serial
from agentcore.events import Started
from agentcore.messages import ChatResponse, Message, Role
from agentcore.reasons import NormalizedStopReason
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

MAX_TOKENS, ANSWERS = 60, 24
#: The longest answer of each agent, in tokens; the essay has about 330.
LONGEST: Mapping[str, int] = {"release-notes": 420, "ticket-replies": 240}


@transaction.atomic
def fill() -> None:
    project, model = project_default(), Agent.objects.get(name="sim-essay")
    policy = policy_create(project=project, name="one-call", limits={"max_continuations": 0})
    for name, longest in LONGEST.items():
        about = {"model": "sim-essay", "max_tokens": MAX_TOKENS, "policy": policy.policy}
        agent = agent_create(
            project=project, name=name, connection=Connection.objects.get(pk=model.connection_id), **about
        )
        for n in range(ANSWERS):
            _told(agent, Mix(seed=n), longest * (n + 1) // ANSWERS)


def _told(agent: Agent, mix: Mix, tokens: int) -> None:
    """One turn of a single answer of so many tokens, which was asked for under a larger cap."""
    at = datetime.now(UTC) - timedelta(minutes=tokens)
    standing = effective_policy_for(agent, {})
    prompt, cap = f"Write {tokens} words.", 2 * tokens
    turn = Turn(id=id_at(at, mix.chance), project=agent.project, agent=agent, agent_name=agent.name)
    setup, said = setup_of(agent, str(turn.id)), Message(Role.USER, prompt)
    turn.provider, turn.model = agent.connection.provider, agent.model
    turn.input_text, turn.max_tokens, turn.policy = prompt, cap, serial.to_json(standing.policy)
    turn.policy_version, turn.policy_sources = standing.version, standing.resolved.stored()
    turn.setup = {"setup": serial.to_json(setup), "messages": [serial.to_json(said)]}
    turn.save(force_insert=True)
    Turn.objects.filter(id=turn.id).update(created_at=at)
    usage = TokenUsage(40, tokens)
    answer = ChatResponse(
        mix.text(60, 90), usage=usage, stop_reason=NormalizedStopReason.END_TURN, raw_stop_reason="stop"
    )
    generated_histories.tell(turn, standing.policy, Started(0.0, setup, (said,)), iter([answer]), at)
