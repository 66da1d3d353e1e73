"""The views of `whystop` and the comments of all tables: whole, told once, made anew only when they change."""

from django.db import connection

from dashboard.turns.models import Turn
from dashboard.turns.sql_views import view_installer
from dashboard.turns.sql_views.model_comments import table_comments

#: Of every table and view of ours, and of each of their columns: its comment. Partitions are parts of their table.
COMMENTS = """
SELECT class.relname, attribute.attname, obj_description(class.oid, 'pg_class'),
       col_description(class.oid, attribute.attnum)
  FROM pg_class class JOIN pg_attribute attribute ON attribute.attrelid = class.oid
 WHERE class.relnamespace = %s::regnamespace AND attribute.attnum > 0 AND NOT attribute.attisdropped
   AND class.relkind = ANY(%s) AND NOT class.relispartition
"""
#: Tables of Django and of the queue, which their own makers describe.
NOT_OURS = ("django_", "auth_", "procrastinate_", "pghistory_")


def asked(sql, values=()):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def test_every_view_and_each_of_its_columns_has_a_comment(db):
    rows = asked(COMMENTS, ["whystop", ["v"]])
    assert {name for name, *_ in rows} == {
        "turns", "attempts", "judgements", "criteria", "errors", "continuations", "runs",
    }  # fmt: skip
    assert [(name, column) for name, column, about, means in rows if not (about and means)] == []


def test_every_table_of_the_product_and_each_of_its_columns_has_a_comment(db):
    rows = asked(COMMENTS, ["public", ["r", "p"]])
    ours = [row for row in rows if not row[0].startswith(NOT_OURS)]
    assert {name for name, *_ in ours} == set(table_comments()), (
        "a table that no model tells of, or the other way round"
    )
    assert [(name, column) for name, column, about, means in ours if not (about and means)] == []


def test_a_comment_equals_that_of_the_model(db):
    told = {(name, column): means for name, column, _, means in asked(COMMENTS, ["public", ["r", "p"]])}
    assert told["turns_turn", "max_tokens"] == "Max tokens of the first call; null: none was sent."
    assert told["turns_turn", "run_id"].startswith("The first turn of its run")
    assert told["turns_record", "length"] == "How many records the row holds."


def test_views_are_recreated_only_where_they_have_changed(db, monkeypatch):
    assert not view_installer.install()
    monkeypatch.setattr(view_installer, "_about", lambda: "Another version.")
    assert view_installer.install()
    assert not view_installer.install()


def test_tables_are_created_beside_the_others_for_any_user_name(db):
    assert asked("SELECT current_schema()") == [("public",)]


def test_no_view_blocks_a_migration(transactional_db):
    view_installer.before_migrations(plan=())
    assert asked("SELECT to_regclass('whystop.turns') IS NOT NULL") == [(True,)]
    view_installer.before_migrations(plan=["one"])
    try:
        assert asked("SELECT to_regclass('whystop.turns')") == [(None,)]
    finally:
        view_installer.after_migrations()
    assert asked("SELECT count(*) FROM whystop.turns") == [(Turn.objects.count(),)]
