"""What the database has, read from its catalogue: tables, unique indexes, foreign keys, triggers, numbered columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import connection
from django.db.backends.utils import CursorWrapper

#: Partitions count as their table.
_TABLES = """
SELECT c.oid::bigint, c.relname FROM pg_class c
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
 ORDER BY 2
"""
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), a.attidentity <> '', a.attgenerated <> '', NOT a.attnotnull
  FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_UNIQUE = """
SELECT array(SELECT a.attname FROM unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (attnum, n)
               JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum ORDER BY k.n)::text[],
       coalesce(pg_get_expr(i.indpred, i.indrelid), '')
  FROM pg_index i WHERE i.indrelid = %s AND i.indisunique ORDER BY 1, 2
"""
_KEYS = """
SELECT t.conname, t.conrelid::regclass::text, t.confrelid::regclass::text,
       array(SELECT attname FROM unnest(t.conkey) k JOIN pg_attribute ON attrelid = t.conrelid AND attnum = k)::text[],
       array(SELECT attname FROM unnest(t.confkey) k JOIN pg_attribute ON attrelid = t.confrelid AND attnum = k)::text[]
  FROM pg_constraint t JOIN pg_class c ON c.oid = t.conrelid
 WHERE t.contype = 'f' AND t.conparentid = 0 AND c.relnamespace = current_schema()::regnamespace ORDER BY 2, 1
"""
#: `tgtype`: bit 0 is set for triggers on rows, bit 5 for TRUNCATE.
_TRIGGERS = """
SELECT t.tgname, p.proname, t.tgtype & 1 = 1, t.tgtype & 32 = 32
  FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = %s AND NOT t.tgisinternal ORDER BY 1
"""
_FUNCTIONS = """
SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
   AND prolang IN (SELECT oid FROM pg_language WHERE lanname IN ('sql', 'plpgsql'))
"""
_EXCLUDING = """
SELECT conrelid::regclass::text || '.' || conname FROM pg_constraint WHERE contype = 'x'
   AND connamespace = current_schema()::regnamespace
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `numbered`: the database gives each row the next number."""

    name: str
    type: str
    numbered: bool
    generated: bool
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Unique:
    """A unique index, the primary key among them. `condition`: which rows it holds for; empty for all."""

    columns: tuple[str, ...]
    condition: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger and its function. `each_row`: not each statement."""

    name: str
    function: str
    each_row: bool
    on_truncate: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its partitions."""

    name: str
    columns: tuple[Column, ...]
    unique: tuple[Unique, ...]
    triggers: tuple[Trigger, ...]

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns that are written; the database computes the others."""
        return tuple(column.name for column in self.columns if not column.generated)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key. `columns` refer to `target_columns` of `target`."""

    name: str
    table: str
    target: str
    columns: tuple[str, ...]
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All of it. `functions`: the text of each function; `excluding`: exclusion constraints."""

    tables: Mapping[str, Table]
    foreign_keys: tuple[ForeignKey, ...]
    functions: Mapping[str, str] = field(repr=False)
    excluding: tuple[str, ...]


def read_catalogue() -> Catalogue:
    """The catalogue of the schema that the connection works in."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        tables = {name: _table(cursor, oid, name) for oid, name in cursor.fetchall()}
        cursor.execute(_KEYS)
        keys = tuple(ForeignKey(name, a, b, tuple(of), tuple(to)) for name, a, b, of, to in cursor.fetchall())
        cursor.execute(_FUNCTIONS)
        functions = dict(cursor.fetchall())
        cursor.execute(_EXCLUDING)
        return Catalogue(tables, keys, functions, tuple(name for (name,) in cursor.fetchall()))


def _table(cursor: CursorWrapper, oid: int, name: str) -> Table:
    cursor.execute(_COLUMNS, [oid])
    columns = tuple(Column(*row) for row in cursor.fetchall())
    cursor.execute(_UNIQUE, [oid])
    unique = tuple(Unique(tuple(names), condition) for names, condition in cursor.fetchall())
    cursor.execute(_TRIGGERS, [oid])
    return Table(name, columns, unique, tuple(Trigger(*row) for row in cursor.fetchall()))
