"""`--filter NAME=VALUE` of commands: which turns of the timeline they are about."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from dashboard.turns.filters import TimelineFilters, unknown_filters


def add_filter(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--filter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="only turns that match this filter of the timeline, such as agent=sim-essay or status=partial; repeatable",
    )


def filter_of(said: list[str]) -> dict[str, Any]:
    """The timeline's filters, as `--filter` gives them. Raises `CommandError` in words."""
    given: dict[str, list[str]] = {}
    for words in said:
        name, equals, value = words.partition("=")
        if not equals:
            raise CommandError(f"--filter {words}: write NAME=VALUE, such as agent=sim-essay.")
        given.setdefault(name, []).append(value)
    filters, errors = TimelineFilters.parse_stored(given)
    errors |= unknown_filters(given)
    if errors:
        raise CommandError(" ".join(errors.values()))
    return filters.as_dict()
