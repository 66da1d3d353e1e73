"""`manage.py backtest`: a policy tried over stored turns, in the terminal."""

import json
import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import Event
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder

from agentcore.error_policy import PRESETS
from agentcore.quoting import quoted
from dashboard.accounts.audit.services import command_record
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.project_command import ProjectCommand
from dashboard.agents.selectors import policy_get, policy_version_standing, project_current
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import BacktestView, backtest_view
from dashboard.policies.backtests.result_text import counts_in_words, difference_in_words, in_words
from dashboard.policies.backtests.selectors import backtest_get, backtest_shown
from dashboard.policies.backtests.services import UNFINISHED, backtest_cancel, backtest_create
from dashboard.runtime.database_setup import prepare
from dashboard.simulator.model_table import provider_shown
from dashboard.turns.filter_arguments import add_filter, filter_of
from dashboard.turns.prices.templatetags.prices import no_price

LOOK_SECONDS = 0.1  #: between two looks at what other processes still judge


class Command(ProjectCommand):
    help = (
        "Backtest a policy: evaluate stored turns under it from their recordings, and count how many would have ended "
        "differently, and at what cost. No provider is called. Running workers help; Ctrl-C cancels the backtest."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--policy", metavar="NAME", help="start from the settings of this policy (default: the default limits)"
        )
        parser.add_argument(
            "--max-tokens",
            type=int,
            help="Max tokens per call of each turn's first call, instead of the recorded value",
        )
        for name, field in LIMIT_FIELDS.items():
            kind = int if field.whole else float
            parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=field.meaning.replace("%", "%%"))
        parser.add_argument("--error-policy", choices=tuple(PRESETS), help="how errors are handled")
        replaces = "the policy that the draft replaces in each turn; --stands-for is its former name"
        parser.add_argument("--replaces", "--stands-for", dest="stands_for", metavar="NAME", help=replaces)
        parser.add_argument(
            "--keeps-overrides",
            action="store_true",
            help="each turn's own overrides take precedence over the draft, as they always do with --replaces",
        )
        add_filter(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object, as in the API, with its id")

    def handle(self, *_args: Any, **options: Any) -> None:
        prepare(settings.ENVIRONMENT, simulator_url=None)
        self.enter(options["project"])
        with _signals() as stop:
            made = _made(options)
            command_record("backtest", str(made.id))
            backtest = _worked_on(made, stop)
        if options["json"]:
            told = {"id": backtest.id, **backtest_shown(backtest)}
            self.stdout.write(json.dumps(told, cls=DjangoJSONEncoder))
        else:
            self.stdout.write("\n".join(lines_of(backtest)))
        if backtest.status != Backtest.Status.DONE:
            raise SystemExit(1)


def _made(options: dict[str, Any]) -> Backtest:
    project = project_current()
    try:
        version = policy_version_standing(policy=_policy(project, options["policy"]))
        return backtest_create(
            project=project,
            policy=_draft(version, options),
            filter=filter_of(options["filter"]),
            max_tokens=options["max_tokens"],
            stands_for=_policy(project, options["stands_for"]),
            keeps_overrides=options["keeps_overrides"],
            tried_version=version,
            queued=False,
        )
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error


def _draft(version: PolicyVersion | None, options: dict[str, Any]) -> dict[str, Any]:
    """What is tried, by `POLICY_FIELDS`: what a policy says, with the numbers given here in place of its own."""
    said = {field: getattr(version, field) for field in POLICY_FIELDS} if version else {}
    limits = {name: options[name] for name in LIMIT_FIELDS if options[name] is not None}
    if options["error_policy"]:
        said["error_policy"] = {"preset": options["error_policy"]}
    return {**said, "limits": {**(said.get("limits") or {}), **limits}}


def _policy(project: Project, name: str | None) -> Policy | None:
    try:
        return None if name is None else policy_get(project=project, name=name)
    except Policy.DoesNotExist as error:
        known = ", ".join(Policy.objects.filter(project=project).order_by("name").values_list("name", flat=True))
        raise CommandError(f"There is no policy {quoted(name)}; there are {known}.") from error


def _worked_on(backtest: Backtest, stop: Event) -> Backtest:
    """The backtest once it is over: judged here, and by any worker that has taken it up too."""
    runner.plan(backtest.pk)
    while not stop.is_set():
        runner.work(backtest.pk, stop.is_set)
        if backtest_get(backtest.pk, project=backtest.project).status not in UNFINISHED:
            break
        stop.wait(LOOK_SECONDS)
    backtest_cancel(backtest=backtest)
    return backtest_get(backtest.pk, project=backtest.project)


@contextmanager
def _signals() -> Iterator[Event]:
    """Set by the first Ctrl-C, or SIGTERM."""
    stop = Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


# A backtest's result as lines for a terminal; every count shows the undecidable turns and the certainty of the
# others.
LISTED = 20  #: flipped turns that are named


def lines_of(backtest: Backtest) -> Iterator[str]:
    """Its sentence; what the decided turns would have cost; each provider and model, where there are several; why turns
    are undecidable; and the first flipped turns."""
    shown = backtest_view(backtest)
    said = in_words(backtest)
    yield f"{said[0].upper()}{said[1:]}."
    yield from _cost(shown)
    if len(shown.groups) > 1:
        for each in shown.groups:
            provider = provider_shown(each.group.provider, each.group.model)
            yield f"{provider} {each.group.model}: {counts_in_words(asdict(each.group))}"
    for reason in shown.reasons:
        yield f"{reason.count:,} not decided: {reason.words} ({reason.why})"
    for flip in shown.flips[:LISTED]:
        about = ", ".join(filter(None, (flip.words, flip.difference, flip.flip.certainty, flip.flip.by_rerun)))
        yield f"{flip.flip.turn}  {flip.flip.ended} → {flip.flip.ends}  {about}"
    if backtest.flipped > LISTED:
        yield f"… and {backtest.flipped - LISTED:,} more"


def _cost(shown: BacktestView) -> Iterator[str]:
    whole = shown.whole
    if not whole.decided:
        return
    difference = (
        difference_in_words(calls=whole.group.calls, tokens=whole.group.tokens, about=whole.group.is_about)
        or "as many calls and tokens"
    )
    price = whole.dollars if whole.priced else no_price(simulated=shown.simulated)
    yield f"Of the {whole.decided:,} decided: {difference}; {price}"
