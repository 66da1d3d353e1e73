"""What `manage.py doctor` finds out: each check yields findings, each a line with a state and what to do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.db import Error

from dashboard.platform.postgres import PostgresError


class State(StrEnum):
    """How bad it is. Only an error makes the exit code 1."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `fix`: what to do about it; empty where all is well."""

    name: str
    state: State
    words: str
    fix: str = ""


Check = Callable[[], Iterator[Finding]]


def examine(checks: tuple[Check, ...]) -> Iterator[Finding]:
    """The findings of these checks, in order. A check that cannot be made is a finding of its own."""
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            yield from check()
        except (Error, PostgresError) as error:
            said = str(error).strip().partition("\n")[0]
            yield Finding(name, State.ERROR, f"Not checked: {said}", "Check the database first.")
        except Exception as error:
            yield Finding(name, State.ERROR, f"Not checked: {type(error).__name__}: {error}", "Report this as a fault.")


def graded(name: str, words: str, *grades: tuple[bool, State, str]) -> Finding:
    """A finding with the state of the first grade that holds; `ok` where none does."""
    for holds, state, fix in grades:
        if holds:
            return Finding(name, state, words, fix)
    return Finding(name, State.OK, words)
