"""Django's PostgreSQL backend over the embedded server: the first connection starts it.

So `migrate`, `shell` and every other command work with no server set up, and those that never ask the database
(`check`, `makemigrations --check`) start none.
"""

from typing import Any

from django.db.backends.postgresql import base
from psycopg.conninfo import conninfo_to_dict

from dashboard.platform import embedded_database


class DatabaseWrapper(base.DatabaseWrapper):
    """Knows the address only once the server runs; all else is Django's."""

    def get_connection_params(self) -> dict[str, Any]:
        address = conninfo_to_dict(embedded_database.share().url)
        return {**super().get_connection_params(), "host": address["host"], "port": address["port"]}
