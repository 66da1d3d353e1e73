"""Every test that changes the tables leaves those of this release."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.first_start import CHECKOUT
from tests.migrating import migrate_all, migrate_back


def _missing() -> list[str]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label} {migration.name}" for migration, _ in plan]


@pytest.mark.django_db(transaction=True)
def test_undone_migrations_are_applied_again():
    try:
        migrate_back("turns", "0034_cohorts_left")
        assert "turns 0035_answers_without_limits" in _missing()
    finally:
        migrate_all()
    assert _missing() == []


def test_no_other_test_migrates_the_database_of_its_worker():
    files = [path for path in CHECKOUT.glob("tests/**/*.py") if "MigrationExecutor(" in path.read_text()]
    assert sorted(path.name for path in files) == ["migrating.py", "test_migrating.py"]
