"""`manage.py ask`: a turn in the terminal."""

import asyncio
import json
import signal
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder

from agentcore.quoting import quoted
from agentcore.reasons import TurnStatus
from dashboard.accounts.audit.services import command_record
from dashboard.agents.models import Agent
from dashboard.agents.project_command import ProjectCommand
from dashboard.agents.selectors import agent_list, project_current
from dashboard.client.narration import TurnNarration
from dashboard.live.services import turn_start
from dashboard.platform.ids import new_id
from dashboard.policies.stop_explanation import derivation_of, why_told
from dashboard.runtime.database_setup import prepare
from dashboard.runtime.ports import simulator_at
from dashboard.runtime.terminal_turn import simulator_for, work_and_watch
from dashboard.turns.api_serializers import record_json, turn_json
from dashboard.turns.models import Record, Turn


class Command(ProjectCommand):
    help = (
        "Send a prompt to an agent and watch its turn: THINK, ACT, OBSERVE, and why it stopped. Ctrl-C cancels the "
        "turn."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("prompt", help="the prompt")
        parser.add_argument("--agent", default="sim-essay", help="the agent's name (default: sim-essay)")
        parser.add_argument("--max-tokens", type=int, help="Max tokens per call, instead of the agent's value")
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object per line: each record, why, the turn"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        port = settings.ENVIRONMENT.simulator_port
        prepare(settings.ENVIRONMENT, simulator_url=simulator_at(port) if port else None)
        self.enter(options["project"])
        agent = self._agent(options["agent"])
        queue = f"ask-{new_id()}"
        overrides = {"max_tokens": options["max_tokens"]}
        try:
            turn = turn_start(agent=agent, input_text=options["prompt"], overrides=overrides, queue=queue)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        command_record("ask", f"{agent.name}: turn {turn.id}")
        telling = AsJson() if options["json"] else AsLines(sys.stdout)
        turn = asyncio.run(_run(agent, turn, queue, telling))
        telling.ended(turn)
        if turn.status in (TurnStatus.FAILED, TurnStatus.ABORTED, TurnStatus.CANCELLED):
            sys.exit(1)

    def _agent(self, name: str) -> Agent:
        agents = agent_list(project=project_current())
        agent = agents.filter(name=name).first()
        if agent is None:
            known = ", ".join(agents.values_list("name", flat=True))
            raise CommandError(f"There is no agent {quoted(name)}; there are {known}.")
        return agent


async def _run(agent: Agent, turn: Turn, queue: str, telling: "AsLines | AsJson") -> Turn:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with simulator_for(agent.connection):
        return await work_and_watch(turn, queue, telling, stop)


class AsLines(TurnNarration):
    """For people: streamed text, a line for each thing that happens, then why it stopped, as tree and sentence."""

    def recorded(self, record: Record) -> None:
        self.told(record_json(record))

    def ended(self, turn: Turn) -> None:
        why = derivation_of(turn)
        self.why(why.lines if why else ())
        self.over(turn_json(turn))


class AsJson:
    """For programs: one JSON object a line."""

    def said(self, text: str) -> None:
        """Text is in the records."""

    def recorded(self, record: Record) -> None:
        self._write({"record": record_json(record)})

    def ended(self, turn: Turn) -> None:
        self._write({"why": why_told(turn, derivation_of(turn))})
        self._write({"turn": turn_json(turn)})

    def _write(self, value: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(value, cls=DjangoJSONEncoder) + "\n")
        sys.stdout.flush()
