"""Each table of a project has a row before rows are spread."""

import pytest
from django.db import connection
from psycopg import sql

from dashboard.bench.shards.placement import NOTHING, PROJECT
from dashboard.bench.shards.rows import condition
from dashboard.bench.shards.traffic import fill

pytestmark = pytest.mark.django_db


def test_every_table_of_a_project_has_a_row():
    (project,) = fill(projects=1, turns=10)
    with connection.cursor() as cursor:
        for name, by in PROJECT.items():
            if by != NOTHING:
                exists = sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE {})")
                cursor.execute(exists.format(sql.Identifier(name), condition(name, project.pk)))
                assert cursor.fetchone() == (True,), name
