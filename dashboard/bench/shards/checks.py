"""What must hold of rows that are spread over nodes. Each check yields its faults, in sentences."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg import sql

from dashboard.bench.shards.catalogue import ForeignKey, Unique
from dashboard.bench.shards.layout import COMMON, Cluster, schema_of
from dashboard.bench.shards.placement import NOTHING, PROJECT
from dashboard.bench.shards.requirements import is_left_out
from dashboard.bench.shards.rows import Digests, digests

_ASTRAY: Final = (
    "SELECT count(*) FROM {table} AS one WHERE {filled} AND NOT EXISTS (SELECT FROM {target} AS other WHERE {same})"
)
_HASHED: Final = "SELECT hashtextextended(ROW({columns})::text, 0) FROM {table} WHERE {filled}"


def rows_lost(made: Cluster, stored: Digests) -> Iterator[str]:
    """Tables of which the schemas together do not have the very rows that were stored, each once."""
    spread: dict[str, tuple[int, int]] = {}
    for found in (_digests_of(made, project) for project in made.placed):
        for name, (count, digest) in found.items():
            before = spread.get(name, (0, 0))
            spread[name] = (before[0] + count, before[1] + digest)
    for name, before in stored.items():
        if PROJECT[name] != NOTHING and spread[name] != before:
            yield f"{name}: {before[0]:,} rows were stored, and the nodes have {spread[name][0]:,}, or others."


def _digests_of(made: Cluster, project: Any) -> Digests:
    with made.connect(made.placed[project], path=schema_of(project)) as on:
        return digests(on, made.catalogue)


def keys_broken(made: Cluster) -> Iterator[str]:
    """Foreign keys of which a row refers to a row that is not on its node."""
    for project, node in made.placed.items():
        with made.connect(node, path=f"{schema_of(project)},{COMMON}") as on:
            for key in made.catalogue.foreign_keys:
                if key.table in PROJECT and not is_left_out(key) and (count := _astray(on, key)):
                    yield f"{count:,} rows of {key.table} refer to rows of {key.target} that are not on their node."


def _astray(on: psycopg.Connection[Any], key: ForeignKey) -> int:
    pairs = zip(key.columns, key.target_columns, strict=True)
    same = [sql.SQL("one.{} = other.{}").format(sql.Identifier(a), sql.Identifier(b)) for a, b in pairs]
    asked = sql.SQL(_ASTRAY).format(
        table=sql.Identifier(key.table),
        target=sql.Identifier(key.target),
        filled=_filled(key.columns),
        same=sql.SQL(" AND ").join(same),
    )
    found = on.execute(asked).fetchone()
    assert found is not None
    return int(found[0])


def keys_twice(made: Cluster) -> Iterator[str]:
    """Unique constraints that hold on each node alone, as its indexes see to, but not over all of them."""
    seen = defaultdict[tuple[str, Unique], Counter[int]](Counter)
    for project, node in made.placed.items():
        with made.connect(node, path=schema_of(project)) as on:
            for name in PROJECT:
                for unique in made.catalogue.tables[name].unique:
                    seen[name, unique].update(_hashes(on, name, unique))
    for (name, unique), counts in seen.items():
        if twice := sum(count > 1 for count in counts.values()):
            yield f"{name} ({', '.join(unique.columns)}): {twice:,} values are on more than one node."


def _hashes(on: psycopg.Connection[Any], table: str, unique: Unique) -> list[int]:
    condition = sql.SQL(unique.condition or "true")
    asked = sql.SQL(_HASHED).format(
        columns=sql.SQL(", ").join(map(sql.Identifier, unique.columns)),
        table=sql.Identifier(table),
        filled=sql.SQL("{} AND {}").format(_filled(unique.columns), condition),
    )
    return [number for (number,) in on.execute(asked).fetchall()]


def _filled(columns: tuple[str, ...]) -> sql.Composable:
    return sql.SQL(" AND ").join(sql.SQL("{} IS NOT NULL").format(sql.Identifier(name)) for name in columns)
