"""`manage.py doctor`: whether this installation is well, line by line."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from dashboard.platform import replica
from dashboard.runtime.operations import (
    append_only_check,
    database_checks,
    machine_checks,
    provider_checks,
    security_checks,
)
from dashboard.runtime.operations.doctor import Check, Finding, State, examine

CHECKS: tuple[Check, ...] = (
    database_checks.database,
    database_checks.read_replica,
    database_checks.migrations,
    append_only_check.triggers,
    database_checks.clock,
    database_checks.queue,
    machine_checks.live_updates,
    provider_checks.providers,
    machine_checks.egress,
    machine_checks.secrets,
    security_checks.keys_of_the_data,
    database_checks.gateway_keys,
    security_checks.two_factor_authentication,
    database_checks.evidence,
    machine_checks.disk,
    machine_checks.backups,
)
OF_DATABASE: frozenset[Check] = frozenset(
    {
        database_checks.database,
        database_checks.read_replica,
        database_checks.migrations,
        append_only_check.triggers,
        security_checks.keys_of_the_data,
        database_checks.clock,
        database_checks.queue,
        database_checks.gateway_keys,
        security_checks.two_factor_authentication,
        database_checks.evidence,
        provider_checks.providers,
    }
)


class Command(BaseCommand):
    help = "Check the database, the queue, providers, keys and the machine; exit code 1 if there is an error."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object with `state` and `findings`")

    def handle(self, *_: Any, **options: Any) -> None:
        found = []
        checks = tuple(one for one in CHECKS if one is not database_checks.read_replica or replica.is_configured())
        for finding in examine(checks, of_database=OF_DATABASE):
            found.append(finding)
            if not options["json"]:
                self.stdout.write(_line(finding))
                self.stdout.flush()
        worst = max((one.state for one in found), key=list(State).index)
        if options["json"]:
            self.stdout.write(json.dumps({"state": worst, "findings": [asdict(one) for one in found]}, indent=1))
        if worst is State.ERROR:
            sys.exit(1)


def _line(finding: Finding) -> str:
    fix = f". {finding.fix}" if finding.fix else ""
    return f"{finding.state:<7}  {finding.name}: {finding.words.rstrip('.')}{fix}"
