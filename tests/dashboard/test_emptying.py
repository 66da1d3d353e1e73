"""What is left in the database once tables were emptied: nothing but what every migration makes."""

import pytest
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from dashboard.accounts.models import User
from dashboard.turns.models import Turn
from tests import emptying
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)
FILES = (
    "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND pg_relation_size(oid) > 0"
    " AND relname ~ '^turns_(turn|record_p)'"
)
COUNTED = "SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= 0 AND relname ~ '^turns_(turn|record_p)'"


def counted() -> list[str]:
    """The tables of turns for which a plan knows a number of rows."""
    with connection.cursor() as cursor:
        cursor.execute(COUNTED)
        return [name for (name,) in cursor.fetchall()]


def with_files() -> int:
    with connection.cursor() as cursor:
        cursor.execute(FILES)
        return cursor.fetchone()[0]


def test_emptying_and_vacuuming_remove_every_turn_row_and_file_and_keep_roles_and_kinds(play: Play):
    play("sim-essay", max_tokens=60)
    User.objects.create(username="someone").groups.add(Group.objects.get(name="watcher"))
    kinds = ContentType.objects.count()
    assert with_files()
    emptying._empty(connection)
    emptying._vacuum(connection)
    assert not with_files()
    assert not Turn.objects.exists()
    assert not User.objects.exists()
    assert Group.objects.count() == 3
    assert ContentType.objects.count() == kinds > 0
    assert not counted()
