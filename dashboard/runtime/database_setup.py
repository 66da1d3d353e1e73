"""Prepares a database: migrations, and the first rows.

Also holds what a new database starts with: a connection to the simulator, an agent for each way a model can end, a
policy.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations.exceptions import MigrationSchemaMissing
from django.db.migrations.executor import MigrationExecutor
from psycopg import errors

from dashboard.accounts import services as accounts
from dashboard.agents import selectors
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Project
from dashboard.agents.samples import Sample
from dashboard.agents.validation import base_url_valid
from dashboard.platform.database import is_away
from dashboard.platform.egress.keys import key_for
from dashboard.platform.environment import Environment
from dashboard.platform.errors import StartError
from dashboard.tour.sample_agents import agent_make, connection_make, connection_move, samples_make, simulators_move
from dashboard.turns import partitions
from dashboard.turns.sql_views import view_installer

#: Who is said to have made what nobody made.
FIRST_START, LATER_START = "the system (first start)", "the system (later start)"
#: Where the simulator is when nobody says otherwise.
SIMULATOR_URL = "http://127.0.0.1:8322/v1"
WHY = "First start of Whystop."
_OPENAI = "openai"
_OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_ADDRESS = "https://api.openai.com/v1"
_OPENAI_MODEL = "gpt-4.1-mini"


@transaction.atomic
def seed(*, simulator_url: str | None) -> None:
    """Makes what is missing and leaves alone what somebody changed, but for addresses that this start decides.

    `simulator_url`: where the simulator is this time; None leaves it where it was. With OPENAI_API_KEY there is an
    agent `openai` too, at OPENAI_BASE_URL and with OPENAI_MODEL where these are set.
    """
    project = selectors.project_default()
    known = selectors.connection_list(project=project).exists()
    with on_behalf(LATER_START if known else FIRST_START):
        _seed(project, simulator_url)


def _seed(project: Project, simulator_url: str | None) -> None:
    simulator = samples_make(project, simulator_url=simulator_url or SIMULATOR_URL, why=WHY)
    if simulator_url is not None:
        connection_move(simulator, simulator_url)
        simulators_move(simulator_url)
    if os.environ.get(_OPENAI_KEY):
        _seed_openai(project, os.environ.get("OPENAI_BASE_URL", "").strip())


def _seed_openai(project: Project, chosen: str) -> None:
    try:
        base_url_valid(chosen or _OPENAI_ADDRESS)
        if not key_for(_OPENAI_KEY, chosen or _OPENAI_ADDRESS):
            return
        connection = connection_make(project, name=_OPENAI, base_url=chosen or _OPENAI_ADDRESS, api_key_env=_OPENAI_KEY)
        if chosen:
            connection_move(connection, chosen)
    except ValidationError as error:
        raise StartError(f"OPENAI_BASE_URL is not valid: {' '.join(error.messages)}") from error
    model = os.environ.get("OPENAI_MODEL", "").strip() or _OPENAI_MODEL
    agent_make(project, connection, name=_OPENAI, model=model, sample=Sample(1024, ""))


#: Two processes that start at once migrate one after the other; the number is arbitrary and only ours.
_LOCK = 7_260_431_119
_AGAIN_SECONDS = 0.2


def prepare(environment: Environment, *, simulator_url: str | None) -> None:
    """Migrates, seeds and admits; does nothing where that is done. Raises StartError; the driver's error, or Django's
    of it, where the database does not answer: `command_faults` says why."""
    with _told_in_a_sentence():
        with _one_at_a_time():
            _migrate()
            view_installer.install()
            partitions.ensure()
            seed(simulator_url=simulator_url)
        if environment.bootstrap_token:
            _admit(environment.bootstrap_token)


def _migrate() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)


def _admit(token: str) -> None:
    try:
        accounts.bootstrap_token_ensure(token=token)
    except ValueError as error:
        raise StartError(str(error)) from error


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with connection.cursor() as cursor:
        # Asked for again and again: who waited within a statement would be waited for by an index made concurrently.
        while not _locked(cursor):
            time.sleep(_AGAIN_SECONDS)
        try:
            yield
        finally:
            # A lost connection has lost its locks too.
            if connection.is_usable():
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _locked(cursor: CursorWrapper) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
    return bool(cursor.fetchone() == (True,))


@contextmanager
def _told_in_a_sentence() -> Iterator[None]:
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        # Django wraps the driver's error, and its migrations wrap that once more.
        wrapped = error.__context__ if isinstance(error, MigrationSchemaMissing) else error
        cause = wrapped.__cause__ if wrapped else None
        if isinstance(cause, psycopg.Error) and is_away(cause):
            raise
        said = next((sentence for kind, sentence in _SENTENCES.items() if isinstance(cause, kind)), _any_other)
        raise StartError(said(str(error).strip().partition("\n")[0].rstrip("."))) from error


def _any_other(said: str) -> str:
    return f"The database cannot be prepared: {said}."


_SENTENCES: dict[type[psycopg.Error], Callable[[str], str]] = {
    errors.DiskFull: lambda _: "The disk of the database is full: free some space and start again.",
    errors.InsufficientPrivilege: lambda said: (
        f"The user of DATABASE_URL may not create the tables ({said}): make it the owner of the database."
    ),
    errors.ReadOnlySqlTransaction: lambda _: (
        "The server of DATABASE_URL is read-only: name the one that can be written to."
    ),
}
