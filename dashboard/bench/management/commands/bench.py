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
from dashboard.bench.soak.run import soak
from dashboard.bench.storage import run as storage
from dashboard.platform.errors import StartError
from dashboard.runtime.database_setup import prepare

GATEWAY = "gateway"
SUITES: Mapping[str, tuple[Callable[..., Iterator[str]], str]] = {
    "core": (core.rows, "transitions, stream decoding, verify, what-if and import, beside plain Python"),
    "turn": (turn.rows, "the opening of a long turn, beside the bare SQL of its rows"),
    "what-if": (
        what_if.rows,
        "the page that answers a moving slider, for a turn of ten attempts, beside the bare core",
    ),
    GATEWAY: (
        gateway.rows,
        "calls through the gateway, whole and streamed, beside a direct call and beside a bare proxy",
    ),
    "ingest": (
        ingest.lines,
        "spans over OTLP/HTTP until their turns are in the API, beside bare COPY of the same rows",
    ),
    "live": (live.rows, "messages to 100 and 500 viewers of a page, beside a bare broadcast and Channels"),
    "storage": (storage.lines, "bytes of database for a byte of content, and rows for a turn"),
    "timeline": (timeline.lines, "pages, facets and histograms of the turns that are here, beside the bare SQL"),
}
LOAD = "load"
BACKTEST = "backtest"
CHAOS = "chaos"
ABUSE = "abuse"
SOAK = "soak"
WITHOUT_DATABASE = ("core", "live", "gateway", "ingest", "storage")  #: or with one of their own
WHAT = {name: what for name, (_, what) in SUITES.items()} | {
    BACKTEST: "a draft over stored turns on every core, beside the what-if in memory, and the memory it takes",
    LOAD: "fill this database with made turns, for trying out",
    CHAOS: "kill workers, servers and a database of its own while turns run; nothing may be lost or done twice",
    ABUSE: "attack an installation of its own while another key's calls go on; exit code 1 where an aim is missed",
    SOAK: "mixed traffic for --minutes; exit code 1 where a call fails or a process's memory grows",
}


class Command(BaseCommand):
    help = "\n".join(("Measure.", *(f"  {name}: {what}" for name, what in WHAT.items())))
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suite", choices=sorted(WHAT))
        parser.add_argument("--turns", type=int, help="how many load makes (1,000,000) or backtest judges (100,000)")
        parser.add_argument("--days", type=float, default=30, help="over how many days, up to now, they are spread")
        parser.add_argument("--points", type=int, default=200, help="how many turns chaos catches at distinct records")
        parser.add_argument("--processes", type=int, default=1, help="in which gateway is measured too, beside one")
        parser.add_argument("--seconds", type=float, default=240, help="after which chaos strikes no more")
        parser.add_argument("--minutes", type=float, default=30, help="of soak's traffic")
        parser.add_argument("--seed", type=int, default=None, help="of chaos, to repeat a run")
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            help=f"attacks of abuse by a part of their name: {', '.join(ATTACKS)}",
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
        given = {"processes": options["processes"]} if options["suite"] == GATEWAY else {}
        for line in SUITES[options["suite"]][0](**given):
            self.stdout.write(line)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

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
