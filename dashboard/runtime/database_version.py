"""That a newer version of Whystop has migrated the database, told before a command works with it.

Reading the names of the migrations costs a command nothing; loading them, to compare them whole, would take most of a
second. What an older version has migrated is told by the first table or column that is missing.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import get_commands
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.signals import connection_created

from dashboard.platform.errors import StartError

NEWER = (
    "A newer version of Whystop has migrated this database ({app} {number}; this version knows {known}): install that "
    "version, or name another database in DATABASE_URL."
)
#: Commands that work with any database, or tell it themselves; and those that serve: a process of the version before
#: may have to be started again while the new one takes over.
OF_ANY_VERSION = frozenset({"doctor", "backup", "restore", "bench", "up", "web", "worker"})
_NAMED = re.compile(r"(\d{4})_\w+\.py")
_HAS_ANY = "SELECT to_regclass('django_migrations') IS NOT NULL"
_NEWEST = "SELECT app, max(left(name, 4)) FROM django_migrations WHERE name ~ '^[0-9]{4}_' GROUP BY app ORDER BY app"
_UID = "database_version"


class NewerDatabaseError(StartError):
    """This version may not understand what is stored there."""


def look_before(command: str) -> None:
    """Have the first connection to the database looked at, if this command is one of ours."""
    if command not in OF_ANY_VERSION:
        connection_created.connect(partial(_look, command), dispatch_uid=_UID, weak=False)


def newest_here() -> dict[str, str]:
    """By the label of each app of ours, the number of its last migration."""
    found = {}
    for config in apps.get_app_configs():
        names = (_NAMED.fullmatch(file.name) for file in Path(config.path, "migrations").glob("*.py"))
        numbers = [name[1] for name in names if name]
        if config.name.startswith("dashboard.") and numbers:
            found[config.label] = max(numbers)
    return found


def _look(command: str, connection: Any, **_: object) -> None:
    if connection.alias != DEFAULT_DB_ALIAS:
        return
    connection_created.disconnect(dispatch_uid=_UID)
    ours = get_commands().get(command, "").startswith("dashboard.")
    if not ours or not connection.connection.execute(_HAS_ANY).fetchone()[0]:
        return
    here = newest_here()
    for app, number in connection.connection.execute(_NEWEST).fetchall():
        if number > here.get(app, number):
            raise NewerDatabaseError(NEWER.format(app=app, number=number, known=here[app]))
