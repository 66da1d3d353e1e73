"""`manage.py calibrate`: stored turns run again under other limits, to measure how often what-ifs come true."""

import asyncio
import json
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import AsyncExitStack
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError

from dashboard.accounts.audit.services import command_record
from dashboard.agents.models import Project
from dashboard.agents.project_command import ProjectCommand
from dashboard.agents.selectors import project_current
from dashboard.policies.predictions import calibration_state, terminal_output
from dashboard.policies.predictions.calibration_state import Budget
from dashboard.policies.predictions.models import Calibration
from dashboard.policies.predictions.trials import Values, left_out_for, plan_of
from dashboard.runtime.calibration_loop import CalibrationLoop, connections_of
from dashboard.runtime.database_setup import prepare
from dashboard.runtime.ports import simulator_at
from dashboard.runtime.terminal_turn import simulator_for
from dashboard.turns.filter_arguments import filter_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.selectors import timeline, turns_on_simulator

TURNS, TOKENS = 10, 200_000  #: what is asked and may be used unless something else is said
NONE_FOUND = " None was found: run one first, or choose another --filter."
LOOKED_AT = 2_000  #: turns, to find so many that can be asked again
#: What tells one calibration from another; budgets do not.
WORDS = ("ids", "filter", "turns", "max_tokens", "max_continuations", "values")


class Command(ProjectCommand):
    help = (
        "Run stored turns again under other limits, within a budget, and compare each result with what its what-if "
        "predicted. If the command was stopped or killed, run it again with the same options: it continues where it "
        "stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        _add_choice(parser)
        parser.add_argument(
            "--tokens",
            type=_count,
            default=TOKENS,
            metavar="N",
            help=f"budget: the most input and output tokens of all re-runs together (default: {TOKENS:,})",
        )
        parser.add_argument(
            "--money", type=_dollars, metavar="DOLLARS", help="budget: the most they may cost, at list prices"
        )
        parser.add_argument("--anew", action="store_true", help="start again instead of continuing an unfinished run")
        parser.add_argument("--yes", action="store_true", help="start without asking")
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object at the end; progress goes to stderr"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        port = settings.ENVIRONMENT.simulator_port
        prepare(settings.ENVIRONMENT, simulator_url=simulator_at(port) if port else None)
        self.enter(options["project"])
        calibration, resumed = _calibration(project_current(), options)
        budget = Budget(options["tokens"], options["money"])
        out = self.stderr if options["json"] else self.stdout
        try:
            _priced(calibration, budget)
            used = calibration_state.used_by(calibration)
            for line in terminal_output.plan_lines(calibration, resumed=resumed, used=used, budget=budget):
                out.write(line, lambda text: text)
            _agreed(yes=options["yes"])
        except CommandError:
            calibration_state.calibration_withdraw(calibration=calibration)
            raise
        command_record("calibrate", str(calibration.pk))
        run = asyncio.run(_run(calibration, budget, terminal_output.Progress(_stream(out), len(calibration.trials))))
        self._tell(run, as_json=options["json"])
        if calibration.finished_at is None:
            sys.exit(1)

    def _tell(self, run: CalibrationLoop, *, as_json: bool) -> None:
        used = calibration_state.used_by(run.calibration)
        if as_json:
            self.stdout.write(json.dumps(terminal_output.told(run.calibration, used, run.over)))
            return
        if run.over:
            self.stdout.write(terminal_output.OVER[run.over])
        if run.unchecked:
            self.stdout.write("Some failures were not checked: a second run could have exceeded the budget.")
        self.stdout.write(f"{terminal_output.used_words(used)}.".capitalize())
        self.stdout.write("\n".join(terminal_output.table_lines(run.calibration)))


def _add_choice(parser: ArgumentParser) -> None:
    """Which turns are run again, and under which values."""
    parser.add_argument("ids", nargs="*", type=UUID, metavar="TURN", help="ids of the turns to run again")
    parser.add_argument(
        "--filter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="run the newest turns that match this filter of the timeline, such as model=NAME or agent=sim-essay; "
        "repeatable",
    )
    parser.add_argument("--turns", type=_count, default=TURNS, metavar="N", help=f"number of turns (default: {TURNS})")
    parser.add_argument(
        "--max-tokens", type=_numbers, default=(), metavar="N,N,…", help="values of Max tokens per call to try"
    )
    parser.add_argument(
        "--max-continuations",
        type=_numbers,
        default=(),
        metavar="N,N,…",
        help="values of Max continuations to try; with --max-tokens, every pair",
    )
    parser.add_argument(
        "--values",
        type=_count,
        default=4,
        metavar="N",
        help=(
            "if no values are given: how many values of Max tokens per call to choose for each turn, on both sides of "
            "each change in its what-if (default: 4)"
        ),
    )


def _stream(out: Any) -> Any:
    """Progress keeps its own line ends and no colours."""
    return getattr(out, "_out", out)


async def _run(calibration: Calibration, budget: Budget, progress: terminal_output.Progress) -> CalibrationLoop:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    run = CalibrationLoop(calibration, budget, progress, stop)
    async with AsyncExitStack() as stack:
        for connection in await asyncio.to_thread(connections_of, calibration):
            await stack.enter_async_context(simulator_for(connection))
        await run.run()
    return run


def _calibration(project: Project, options: dict[str, Any]) -> tuple[Calibration, bool]:
    """The one to go on with, or a new one; whether it is gone on with."""
    key = calibration_state.key_of({name: options[name] for name in WORDS})
    found = calibration_state.calibration_unfinished(project=project, key=key)
    if found is not None and not options["anew"]:
        return found, True
    if found is not None:
        calibration_state.calibration_finish(calibration=found)
    values = Values(options["max_tokens"], options["max_continuations"], options["values"])
    turns = _named(options["ids"]) if options["ids"] else _newest(project, options["filter"])
    plan = plan_of(turns, values, most=len(options["ids"]) or options["turns"])
    if not plan.trials:
        left_out = "".join(f" Left out {count:,}: {why}." for why, count in plan.left_out.items())
        raise CommandError(f"No stored turn can be run again under other limits.{left_out or NONE_FOUND}")
    return calibration_state.calibration_begin(project=project, key=key, plan=plan), False


def _named(ids: list[UUID]) -> list[Turn]:
    found = Turn.objects.select_related("agent__connection", "project").in_bulk(ids)
    missing = [str(turn_id) for turn_id in ids if turn_id not in found]
    if missing:
        raise CommandError(f"There is no turn {missing[0]}.")
    for turn in found.values():
        if why := left_out_for(turn):
            raise CommandError(f"Turn {turn.id} cannot be run again: calibrate skips turns {why}.")
    return [found[turn_id] for turn_id in ids]


def _newest(project: Project, said: list[str]) -> Iterator[Turn]:
    filters, _ = TimelineFilters.parse(filter_of(said))
    cursor, looked_at = None, 0
    while looked_at < LOOKED_AT:
        page = timeline(project=project, filters=filters, cursor=cursor)
        ids = [turn.id for turn in page.items]
        whole = Turn.objects.select_related("agent__connection", "project").in_bulk(ids)
        yield from (whole[turn_id] for turn_id in ids if turn_id in whole)
        looked_at, cursor = looked_at + len(ids), page.next
        if cursor is None:
            return


def _priced(calibration: Calibration, budget: Budget) -> None:
    """Refuse a budget of money where it could not be kept to."""
    trials = calibration_state.trials_of(calibration)
    unknown = {UUID(trial.turn) for trial in trials if trial.bound.dollars is None}
    if budget.dollars is not None and unknown:
        models = sorted(set(Turn.objects.filter(id__in=unknown).values_list("model", flat=True)))
        paid = {str(turn) for turn in unknown} - turns_on_simulator(map(str, unknown))
        free = "there is none" if paid else "the simulator is free"
        raise CommandError(f"--money needs a price for every model, and {free} for {', '.join(models)}. Use "
                           "--tokens alone, or leave these turns out by --filter.")  # fmt: skip


def _agreed(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("There is no terminal for the confirmation. Add --yes to start without it.")
    try:
        answer = input("Start? [y/N] ")
    except (EOFError, KeyboardInterrupt):
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("Not started. No turn was run.")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**10):
        raise ArgumentTypeError(f"{text}: it must be a whole number above 0")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise ArgumentTypeError(f"{text}: write whole numbers with commas between them, such as 50,100,200")
    return tuple(map(int, parts))


def _dollars(text: str) -> Decimal:
    try:
        value = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        value = Decimal(-1)
    if not (value.is_finite() and value > 0):
        raise ArgumentTypeError(f"{text}: it must be an amount in dollars, such as 2.50")
    return value
