"""The tables of an earlier release in the database of a test.

Where a test has gone back, later migrations of the same app and of others are undone too. Whoever goes forth again to
one migration by name leaves out those that came after it, and the next tests of the same worker find columns missing.
"""

from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def migrate_back(app: str, to: str) -> Apps:
    """Undo what came after this migration of an app. The models as they were there."""
    return MigrationExecutor(connection).migrate([(app, to)]).apps


def migrate_all() -> None:
    """To the tables of this release, whatever is not there."""
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
