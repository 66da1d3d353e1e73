"""A database that a newer version has migrated is told before a command works with it."""

import os
import subprocess

import pytest
from django.core.management import get_commands
from django.db import connection

from dashboard.platform.database import address_of
from dashboard.platform.errors import StartError
from dashboard.runtime import database_version
from tests import forked_start

pytestmark = pytest.mark.django_db
NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('turns', '9999_of_tomorrow', now())"


def look(command: str) -> None:
    database_version._look(command, connection)


def test_a_database_of_this_version_causes_no_message():
    assert database_version.newest_here().keys() >= {"turns", "agents", "accounts"}
    look("export")


def test_a_database_of_a_newer_version_is_reported_once_and_by_our_commands():
    with connection.cursor() as cursor:
        cursor.execute(NEWER)
    with pytest.raises(StartError, match=r"newer version .* \(turns 9999; this version knows \d{4}\)"):
        look("export")
    look("showmigrations")
    look("migrate")


@pytest.mark.django_db(transaction=True)
def test_the_command_ends_with_that_message():
    with connection.cursor() as cursor:
        cursor.execute(NEWER)
    environment = {**os.environ, "DATABASE_URL": address_of(connection.get_connection_params())}
    try:
        words = ["prune", "--keep-days", "9"]
        ran = forked_start.run(words, env=environment, stdin=subprocess.DEVNULL, timeout=120, **forked_start.BOTH)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE name = '9999_of_tomorrow'")
    assert ran.returncode == 1, ran.stderr[-500:]
    assert ran.stderr.startswith("A newer version of Whystop has migrated this database"), ran.stderr[-2000:]


def test_every_command_that_works_with_any_database_exists():
    assert get_commands().keys() >= database_version.OF_ANY_VERSION
