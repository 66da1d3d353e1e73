"""`manage.py bench`: rates of this machine, each beside a bound of the same run."""

import os
import platform
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand

from dashboard.bench import core
from dashboard.bench.measuring import Rate

SUITES: Mapping[str, Callable[[], Iterator[tuple[Rate, Rate | None]]]] = {"core": core.rows}


class Command(BaseCommand):
    help = "Measure. `core`: transitions, stream decoding, verify and what-if, beside plain Python."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suite", choices=sorted(SUITES))

    def handle(self, *_args: Any, **options: Any) -> None:
        self.stdout.write(
            f"Python {platform.python_version()}, {os.cpu_count()} cores; median (lowest–highest) of runs"
        )
        for measured, bound in SUITES[options["suite"]]():
            self.stdout.write(measured.line(bound))
