"""Installs the SQL views and comments: recreated when they have changed, dropped while tables are migrated."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import structlog
from django.db import ProgrammingError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from dashboard.turns.sql_views.model_comments import TableComment, table_comments

log = structlog.get_logger(__name__)

SCHEMA = "whystop"
_WHERE_DEFAULT = """WHERE current_setting('search_path') = '"$user", public'"""
#: Views alone, so that the schema keeps what others were granted there, and tables that somebody has put beside them.
DROPPED = f"""
DO $$ DECLARE view text; BEGIN
    FOR view IN SELECT viewname FROM pg_views WHERE schemaname = '{SCHEMA}' LOOP
        EXECUTE format('DROP VIEW IF EXISTS {SCHEMA}.%I CASCADE', view);
    END LOOP;
    IF to_regnamespace('{SCHEMA}') IS NOT NULL THEN COMMENT ON SCHEMA {SCHEMA} IS NULL; END IF;
END $$
"""  # noqa: S608 - made of constants
_told: WeakSet[Any] = WeakSet()  #: connections of the pool
_NOT_ALLOWED = "42501"  #: SQLSTATE
ABOUT = "Views for analysts: names and meanings that stay. Described in docs/how-to/sql.md."
_VIEWS = Path(__file__).with_name("views.sql")
_HEAD = re.compile(r"^-- view (\w+): (.+)$", re.MULTILINE)
_COLUMN = re.compile(r"(?:AS )?(\w+),? -- (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class View:
    """A view: what it is read from, and what it and its columns mean."""

    name: str
    about: str
    sql: str
    columns: dict[str, str]


@cache
def views() -> tuple[View, ...]:
    """Those of views.sql, in its order."""
    parts = _HEAD.split(_VIEWS.read_text(encoding="utf-8"))[1:]
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return tuple(View(name, about, sql.strip().rstrip(";"), dict(_COLUMN.findall(sql))) for name, about, sql in triples)


def install() -> bool:
    """Make views and comments as this version has them. Whether that was needed."""
    if _is_installed():
        return False
    try:
        _make_anew()
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != _NOT_ALLOWED:
            raise
        log.warning("sql_views_not_created", why=str(error).strip(), fix="GRANT CREATE ON DATABASE")
        return False
    return True


def _make_anew() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        cursor.execute(DROPPED)
        for statement in _statements():
            cursor.execute(statement)
        cursor.execute(f"COMMENT ON SCHEMA {SCHEMA} IS {_quoted(_about())}")


def _is_installed() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT obj_description(to_regnamespace(%s)::oid, 'pg_namespace')", [SCHEMA])
        return bool(cursor.fetchone() == (_about(),))


@cache
def _about() -> str:
    version = hashlib.sha256("".join(_statements()).encode()).hexdigest()[:16]
    return f"{ABOUT} Version {version}."


def take_away() -> None:
    """No view stands in the way of a table that changes."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(DROPPED)


def stay_in_public(connection: Any, **_: object) -> None:
    """A receiver of Django's `connection_created`. PostgreSQL looks first in the schema that is named as the user is,
    and the user of the bundled server is named as the views' schema: tables would be made there."""
    taken = connection.connection
    if connection.vendor == "postgresql" and taken not in _told:
        taken.execute("SELECT set_config('search_path', 'public', false) " + _WHERE_DEFAULT)
        _told.add(taken)


def before_migrations(plan: Any = (), **_: object) -> None:
    """A receiver of Django's `pre_migrate`."""
    if plan:
        take_away()


def after_migrations(**_: object) -> None:
    """A receiver of Django's `post_migrate`; nothing where only some of the migrations were asked for."""
    if _is_installed():
        return
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        install()


@cache
def _statements() -> tuple[str, ...]:
    return tuple(_made())


def _made() -> Iterator[str]:
    for view in views():
        yield f"CREATE VIEW {SCHEMA}.{view.name} AS {view.sql}"
        yield from _comments("VIEW", f"{SCHEMA}.{view.name}", TableComment(view.about, view.columns))
    for table, meaning in table_comments().items():
        yield from _comments("TABLE", f'"{table}"', meaning)


def _comments(kind: str, name: str, meaning: TableComment) -> Iterator[str]:
    yield f"COMMENT ON {kind} {name} IS {_quoted(meaning.about)}"
    for column, means in meaning.columns.items():
        yield f'COMMENT ON COLUMN {name}."{column}" IS {_quoted(means)}'


def _quoted(text: str) -> str:
    """As a literal: a comment takes no parameter."""
    return "'" + text.replace("'", "''") + "'"
