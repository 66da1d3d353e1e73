"""The database refuses the user that runs it; servers of a test that run as this user must be let in."""

import pwd

from django.db import connection

from dashboard.platform.postgres.paths import ClusterPaths


def let_in(home: ClusterPaths) -> None:
    """Until the database starts again."""
    name = pwd.getpwuid(home.account.uid).pw_name
    with (home.folder / "pg_ident.conf").open("a") as rules:
        rules.write(f'whystop "{name}" all\n')
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_reload_conf()")
