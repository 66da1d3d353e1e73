"""What `manage.py doctor` finds out: each check yields findings, each a line with a state and what to do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, ProgrammingError, connection

from dashboard.platform.database import address_of, reason_away
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


def examine(checks: tuple[Check, ...], *, of_database: frozenset[Check] = frozenset()) -> Iterator[Finding]:
    """The findings of these checks, in order. A check that cannot be made is a finding of its own. `of_database`: none
    of these is made once the database did not answer, for each would wait for it again; the last finding names them."""
    away, skipped = False, list[str]()
    for check in checks:
        name = check.__name__.replace("_", " ")
        if away and check in of_database:
            skipped.append(name)
            continue
        try:
            yield from check()
        except (OperationalError, InterfaceError) as error:
            away = getattr(error.__cause__, "sqlstate", None) is None
            reason = _reason_away() if away else None
            said = str(reason or error).strip().partition("\n")[0]
            yield Finding(name, State.ERROR, f"Not checked: {said}", "Check the database first.")
        except ProgrammingError as error:
            said = str(error).strip().partition("\n")[0]
            yield Finding(name, State.ERROR, f"Not checked: {said}", _fix_of(error))
        except (Error, PostgresError) as error:
            said = str(error).strip().partition("\n")[0]
            yield Finding(name, State.ERROR, f"Not checked: {said}", "Check the database first.")
        except Exception as error:
            yield Finding(name, State.ERROR, f"Not checked: {type(error).__name__}: {error}", "Report this as a fault.")
    if skipped:
        counted = "1 check was" if len(skipped) == 1 else f"{len(skipped)} checks were"
        words = f"{counted} skipped because the database does not answer: {', '.join(skipped)}"
        yield Finding("skipped", State.WARNING, words, "Run “manage.py doctor” again when the database answers.")


def _reason_away() -> str | None:
    """Why no connection is made, in words. The pool does not say it; the server does."""
    url = settings.ENVIRONMENT.database_url
    reason = reason_away(url or address_of(connection.get_connection_params()))
    return str(reason) if url or reason is None else str(reason).replace("The server of DATABASE_URL", "The database")


def _fix_of(error: ProgrammingError) -> str:
    if getattr(error.__cause__, "sqlstate", "") == "42501":  # insufficient privilege
        return "Give the user of DATABASE_URL this right with GRANT, or make it the owner of what is named."
    return "If migrations are to apply, apply them first; else restore a backup: tables were changed outside Whystop."


def graded(name: str, words: str, *grades: tuple[bool, State, str]) -> Finding:
    """A finding with the state of the first grade that holds; `ok` where none does."""
    for holds, state, fix in grades:
        if holds:
            return Finding(name, state, words, fix)
    return Finding(name, State.OK, words)
