"""The rows of one project: found by the placement of each table, copied, counted and compared."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import sql

from dashboard.bench.shards.catalogue import Catalogue, Table
from dashboard.bench.shards.layout import Cluster, Node, drop_schema, make_schema, schema_of
from dashboard.bench.shards.placement import NODES, NOTHING, PROJECT, REFERENCE

#: The nodes that the turns of a project reach, each with those before it.
_REACHED: Final = """
WITH RECURSIVE reached AS (
    SELECT unnest(ARRAY[node_id, shared_id]) AS id FROM turns_turn WHERE project_id = {project}
    UNION
    SELECT frame_id FROM turns_clientrequest JOIN turns_turn ON turns_turn.id = turn_id WHERE project_id = {project}
    UNION
    SELECT parent_id FROM turns_node JOIN reached USING (id)
) SELECT id FROM reached
"""
#: How many rows, and a number that differs where a value of one does. Rows may come in any order.
_DIGEST: Final = "SELECT count(*), coalesce(sum(hashtextextended(each::text, 0)::numeric), 0) FROM {rows} AS each"
Digests = Mapping[str, tuple[int, int]]


def node_of(project: UUID, nodes: Sequence[Node]) -> Node:
    """Where a project begins: by a hash of its id."""
    return nodes[int.from_bytes(hashlib.sha256(project.bytes).digest()[:8]) % len(nodes)]


def balanced(sizes: Mapping[UUID, int], nodes: Sequence[Node]) -> Mapping[UUID, Node]:
    """The node for each project so that nodes are about equally full: the largest first, each to the emptiest node."""
    filled, places = dict.fromkeys(nodes, 0), {}
    for project, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        node = min(nodes, key=lambda one: filled[one])
        places[project] = node
        filled[node] += size
    return places


def condition(table: str, project: UUID) -> sql.Composable:
    """Which rows of a table are those of the project, for WHERE."""
    by = PROJECT[table]
    if by == NOTHING:
        return sql.SQL("false")
    column, value = sql.Identifier(by.column), sql.Literal(project)
    if by.table == NODES:
        return sql.SQL("{} IN ({})").format(column, sql.SQL(_REACHED).format(project=value))
    if not by.table:
        return sql.SQL("{} = {}").format(column, value)
    within = sql.SQL("{} IN (SELECT {} FROM {} WHERE {})")
    return within.format(column, sql.Identifier(by.key), sql.Identifier(by.table), condition(by.table, project))


def copy_reference(made: Cluster, source: psycopg.Connection[Any]) -> None:
    """Give each node its copy of the reference tables."""
    for node in made.nodes:
        with made.connect(node) as on:
            on.execute("SET session_replication_role = replica")
            for name in sorted(REFERENCE):
                _copy(source, sql.SQL("true"), on, made.catalogue.tables[name])


def place(made: Cluster, source: psycopg.Connection[Any], project: UUID, node: Node) -> None:
    """Copy all rows of a project into a schema of its own on the node. Triggers and foreign keys do not act: the rows
    are what they were."""
    make_schema(made, node, project)
    with made.connect(node, path=schema_of(project)) as on:
        on.execute("SET session_replication_role = replica")
        for name in PROJECT:
            _copy(source, condition(name, project), on, made.catalogue.tables[name])
        on.execute("RESET session_replication_role")
        on.execute("ANALYZE")
    made.placed[project] = node


def move(made: Cluster, project: UUID, to: Node) -> None:
    """Move a project to another node. Raises ValueError, and leaves it where it is, if a row differs afterwards."""
    at = made.placed[project]
    with made.connect(at, path=schema_of(project)) as source:
        source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        before = digests(source, made.catalogue)
        make_schema(made, to, project)
        with made.connect(to, path=schema_of(project)) as on:
            on.execute("SET session_replication_role = replica")
            for name in PROJECT:
                _copy(source, sql.SQL("true"), on, made.catalogue.tables[name])
            after = digests(on, made.catalogue)
        source.execute("COMMIT")
    if differing := [name for name in before if before[name] != after[name]]:
        drop_schema(made, to, project)
        raise ValueError(f"Rows of these tables differ after the move: {', '.join(differing)}.")
    drop_schema(made, at, project)
    made.placed[project] = to


def _copy(source: psycopg.Connection[Any], rows: sql.Composable, to: psycopg.Connection[Any], table: Table) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.stored))
    name = sql.Identifier(table.name)
    out = sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT").format(columns, name, rows)
    into = sql.SQL("COPY {} ({}) FROM STDIN").format(name, columns)
    with source.cursor().copy(out) as read, to.cursor().copy(into) as written:
        for piece in read:
            written.write(piece)


def digests(on: psycopg.Connection[Any], catalogue: Catalogue, project: UUID | None = None) -> Digests:
    """How many rows each table of a project has, and their digest. `project`: of all that are there, only its own."""
    return {name: _digest(on, catalogue.tables[name], project) for name in PROJECT}


def _digest(on: psycopg.Connection[Any], table: Table, project: UUID | None) -> tuple[int, int]:
    rows = sql.SQL("true") if project is None else condition(table.name, project)
    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.columns)
    selected = sql.SQL("(SELECT {} FROM {} WHERE {})").format(columns, sql.Identifier(table.name), rows)
    found = on.execute(sql.SQL(_DIGEST).format(rows=selected)).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])
