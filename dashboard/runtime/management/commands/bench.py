"""`manage.py bench`: rates of this machine, each beside a bound of the same run."""

import os
import platform
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand

from dashboard.bench import core

SUITES: Mapping[str, Callable[[], Iterator[str]]] = {"core": core.rows}


class Command(BaseCommand):
    help = "Measure. `core`: transitions, stream decoding, verify, what-if and import, beside plain Python."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suite", choices=sorted(SUITES))

    def handle(self, *_args: Any, **options: Any) -> None:
        self.stdout.write(
            f"Python {platform.python_version()}, {os.cpu_count()} cores, of which one is used; rates are per second "
            "of processor time; median (lowest–highest) of runs"
        )
        for line in SUITES[options["suite"]]():
            self.stdout.write(line)
