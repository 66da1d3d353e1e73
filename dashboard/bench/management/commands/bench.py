"""`manage.py bench`: rates of this machine, each beside a bound of the same run."""

import os
import platform
import secrets
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.bench import backtest, bulk_load, core, live, timeline, turn, what_if
from dashboard.bench.abuse.run import ATTACKS, abuse
from dashboard.bench.chaos.run import chaos
from dashboard.bench.gateway import run as gateway
from dashboard.bench.ingest import run as ingest
from dashboard.bench.shards.run import NODES, TURNS, shards
from dashboard.bench.soak.run import soak
from dashboard.bench.storage import run as storage
from dashboard.platform.errors import StartError
from dashboard.runtime.database_setup import prepare

GATEWAY, INGEST = "gateway", "ingest"
SUITES: Mapping[str, tuple[Callable[..., Iterator[str]], str]] = {
    "core": (core.rows, "transitions, stream decoding, verify, what-if and import, beside plain Python"),
    "turn": (turn.rows, "opening the page of a long turn, beside the SQL for its rows"),
    "what-if": (
        what_if.rows,
        "the page that updates while a slider moves, for a turn of ten calls, beside the bare core",
    ),
    GATEWAY: (
        gateway.rows,
        "calls through the gateway, whole and streamed, beside a direct call and beside a bare proxy",
    ),
    INGEST: (
        ingest.lines,
        "spans over OTLP/HTTP until their turns are in the API, beside bare COPY of the same rows",
    ),
    "live": (live.rows, "messages to 100 and 500 viewers of a page, beside a bare broadcast and Channels"),
    "storage": (storage.lines, "database bytes per byte of content, and rows per turn"),
    "timeline": (timeline.lines, "pages, facets and histograms of the stored turns, beside the bare SQL"),
}
LOAD = "load"
BACKTEST = "backtest"
CHAOS = "chaos"
ABUSE = "abuse"
SOAK = "soak"
SHARDS = "shards"
WITHOUT_DATABASE = ("core", "live", "gateway", "ingest", "storage")  #: or with one of their own
WHAT = {name: what for name, (_, what) in SUITES.items()} | {
    BACKTEST: "a backtest of generated turns on every core, beside the what-if in memory, and the memory that it needs",
    LOAD: "fill this database with generated turns; never use it with real turns",
    CHAOS: "kill its own workers, servers and database while turns run, and check that nothing is lost or done twice",
    ABUSE: "attack its own installation while another key's calls continue; exit code 1 if a target is missed",
    SHARDS: "spread turns over several databases by project, check, use and move them; exit code 1 if a check fails",
    SOAK: "send mixed traffic for --minutes; exit code 1 if a call fails or the memory of a process grows",
}


class Command(BaseCommand):
    help = "\n".join(("Measure or test one part of Whystop:", *(f"  {name}: {what}" for name, what in WHAT.items())))
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suite", choices=sorted(WHAT), help="what to measure or test, as listed above")
        parser.add_argument(
            "--turns",
            type=int,
            help=f"load, backtest, shards: number of turns (default: 1,000,000, 100,000 and {TURNS:,})",
        )
        parser.add_argument(
            "--days", type=float, default=30, help="load: spread the turns over this many days, up to now (default: 30)"
        )
        parser.add_argument(
            "--points",
            type=int,
            default=200,
            help="chaos: number of turns to interrupt at distinct records (default: 200)",
        )
        parser.add_argument(
            "--processes", type=int, default=1, help="gateway, ingest: also measure with this many processes"
        )
        parser.add_argument(
            "--seconds", type=float, default=240, help="chaos: stop killing after this many seconds (default: 240)"
        )
        parser.add_argument("--minutes", type=float, default=30, help="soak: minutes of traffic (default: 30)")
        parser.add_argument("--seed", type=int, default=None, help="chaos: seed of the random kills, to repeat a run")
        parser.add_argument("--nodes", type=int, default=NODES, help=f"shards: number of databases (default: {NODES})")
        parser.add_argument(
            "--stored",
            action="store_true",
            help="shards: spread copies of the turns of this installation instead of generated ones. The user of the "
            "database must be allowed to create databases.",
        )
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            help=f"abuse: only attacks whose name contains this text; repeatable. Attacks: {', '.join(ATTACKS)}",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["suite"] == CHAOS:
            self._chaos(points=options["points"], seconds=options["seconds"], seed=options["seed"])
            return
        if options["suite"] == ABUSE:
            if not abuse(only=options["only"], say=self._say):
                raise CommandError("An aim was missed.")
            return
        if options["suite"] == SOAK:
            if not soak(minutes=options["minutes"], say=self._say):
                raise CommandError("An aim was missed.")
            return
        if options["suite"] == SHARDS:
            self._shards(nodes=options["nodes"], turns=options["turns"], stored=options["stored"])
            return
        if options["suite"] not in WITHOUT_DATABASE:
            _prepare()
        if options["suite"] == LOAD:
            bulk_load.load(turns=options["turns"] or 1_000_000, days=options["days"], say=self.stdout.write)
            return
        if options["suite"] == BACKTEST:
            for line in backtest.lines(options["turns"] or 100_000):
                self.stdout.write(line)
            return
        self.stdout.write(
            f"Python {platform.python_version()}, {os.cpu_count()} cores, of which one is used; rates are per second "
            "of processor time; median (lowest–highest) of runs"
        )
        given = {"processes": options["processes"]} if options["suite"] in (GATEWAY, INGEST) else {}
        for line in SUITES[options["suite"]][0](**given):
            self.stdout.write(line)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _shards(self, *, nodes: int, turns: int | None, stored: bool) -> None:
        if stored:
            _prepare()
        if not shards(nodes=nodes, turns=turns or TURNS, stored=stored, say=self._say):
            raise CommandError("A check failed: see the faults above.")

    def _chaos(self, *, points: int, seconds: float, seed: int | None) -> None:
        chosen = secrets.randbelow(1_000_000) if seed is None else seed
        if not chaos(points=points, seconds=seconds, seed=chosen, say=self.stdout.write):
            raise CommandError(f"Something was violated, or too little was caught: repeat it with --seed {chosen}.")


def _prepare() -> None:
    """A suite may be the first that is asked of a data folder."""
    try:
        prepare(settings.ENVIRONMENT, simulator_url=None)
    except StartError as error:
        raise CommandError(str(error)) from error
