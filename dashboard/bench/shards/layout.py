"""The databases that stand for the nodes of a cluster, and the schemas of projects in them.

A schema is made from the product's own, as it is now, by pg_dump; then it is made what Citus would have: without the
tables of other places, with wide numbers, and with triggers that find their tables by themselves.
"""

import re
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection
from psycopg import sql

from dashboard.bench.shards.catalogue import Catalogue, ForeignKey
from dashboard.bench.shards.placement import COORDINATOR, PROJECT, REFERENCE, WIDENED
from dashboard.bench.shards.requirements import is_left_out
from dashboard.runtime.operations.programs import connected, program, schema

NODE_NUMBERS = 1 << 48  #: Citus numbers from this times the node's number on
COMMON = "public"  #: the schema of reference tables
_QUEUE_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc p
 WHERE pronamespace = %s::regnamespace AND proname LIKE 'procrastinate%%' AND prokind = 'f'
"""
_TRIGGER_FUNCTIONS = """
SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = %s::regnamespace AND prorettype = 'trigger'::regtype
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A database that stands for a node. `number`: from 1."""

    number: int
    database: str


@dataclass(slots=True)
class Cluster:
    """The nodes, the parameters of a connection to their server, and on which node each project is."""

    nodes: tuple[Node, ...]
    parameters: dict[str, Any]
    ddl: str  #: of the product's schema
    catalogue: Catalogue
    placed: dict[UUID, Node] = field(default_factory=dict)

    def connect(self, node: Node, *, path: str = COMMON) -> psycopg.Connection[Any]:
        """A connection to the node, each statement a transaction of its own."""
        given = {**self.parameters, "dbname": node.database, "options": f"-c search_path={path}"}
        return psycopg.connect(**given, autocommit=True)


def schema_of(project: UUID) -> str:
    """The name of the schema of a project."""
    return f"project_{project.hex}"


@contextmanager
def cluster(nodes: int, catalogue: Catalogue) -> Iterator[Cluster]:
    """So many empty databases on the server of the default connection, which are dropped at the end."""
    parameters = connection.get_connection_params()
    for unwanted in ("cursor_factory", "pool", "options"):
        parameters.pop(unwanted, None)
    run = secrets.token_hex(4)
    made = Cluster(
        tuple(Node(n, f"whystop_node_{run}_{n}") for n in range(1, nodes + 1)), parameters, _ddl(), catalogue
    )
    with psycopg.connect(**parameters, autocommit=True) as server:
        try:
            for node in made.nodes:
                server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(node.database)))
                _make_common(made, node)
            yield made
        finally:
            for node in made.nodes:
                server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(node.database)))


def _ddl() -> str:
    """The statements that make the product's schema, each name with its schema."""
    parameters = connection.get_connection_params()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::integer / 10000")
        (server,) = cursor.fetchone()
    dbname, environment = connected(parameters)
    command = [str(program("pg_dump", server=server)), f"--dbname={dbname}", f"--schema={schema()}", "--schema-only"]
    command += ["--no-owner", "--no-privileges", "--no-comments"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    kept = (line for line in done.stdout.splitlines() if not line.startswith(("\\", "CREATE SCHEMA")))
    return "\n".join(kept)


def _in_schema(ddl: str, name: str) -> str:
    return re.sub(r'(?<![\w.])("?)' + schema() + r"\1\.", f"{name}.", ddl)


def _widened(ddl: str) -> str:
    """The statements with wide numbers. Raises ValueError where a column of `WIDENED` is not found."""
    for table, column in sorted(WIDENED):
        begin = rf"(CREATE TABLE [\w\"]+\.{table} \([^;]*?\n    {column}) integer"
        ddl, found = re.subn(begin, r"\1 bigint", ddl)
        if found != 1:
            raise ValueError(f"{table}.{column} is not in the definition of the schema.")
    return ddl


def _make_common(made: Cluster, node: Node) -> None:
    """The reference tables of a node."""
    others = sorted({*PROJECT, *COORDINATOR})
    with made.connect(node) as on:
        on.execute(_in_schema(made.ddl, COMMON).encode())
        on.execute(sql.SQL("DROP TABLE {} CASCADE").format(_names(COMMON, others)))


def make_schema(made: Cluster, node: Node, project: UUID) -> None:
    """The empty schema of a project. An error of the database if a table of it depends on one that is elsewhere."""
    name = schema_of(project)
    with made.connect(node) as on, on.transaction():
        on.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        on.execute(_in_schema(_widened(made.ddl), name).encode())
        for key in made.catalogue.foreign_keys:
            if key.table in PROJECT and (is_left_out(key) or key.target in REFERENCE):
                _lead(on, name, key)
        for (function,) in on.execute(_QUEUE_FUNCTIONS, [name]).fetchall():  # and the triggers of the queue with them
            on.execute(sql.SQL("DROP FUNCTION {} CASCADE").format(sql.SQL(function)))
        # Without CASCADE: whatever else leads there is an error.
        on.execute(sql.SQL("DROP TABLE {}").format(_names(name, sorted({*REFERENCE, *COORDINATOR}))))
        _number(on, name, node)
        for (function,) in on.execute(_TRIGGER_FUNCTIONS, [name]).fetchall():
            path = sql.SQL("ALTER FUNCTION {} SET search_path = {}, {}")
            on.execute(path.format(sql.SQL(function), sql.Identifier(name), sql.Identifier(COMMON)))


def _lead(on: psycopg.Connection[Any], name: str, key: ForeignKey) -> None:
    """Drop a foreign key to a table that is not in the schema; one to a reference table is made again."""
    _alter(on, name, key.table, sql.SQL("DROP CONSTRAINT {}").format(sql.Identifier(key.name)))
    if key.target in REFERENCE:
        again = sql.SQL("ADD FOREIGN KEY ({}) REFERENCES {} ({}) DEFERRABLE INITIALLY DEFERRED")
        columns, targets = ([sql.Identifier(c) for c in each] for each in (key.columns, key.target_columns))
        target = sql.Identifier(COMMON, key.target)
        _alter(on, name, key.table, again.format(sql.SQL(", ").join(columns), target, sql.SQL(", ").join(targets)))


def _alter(on: psycopg.Connection[Any], name: str, table: str, does: sql.Composable) -> None:
    on.execute(sql.SQL("ALTER TABLE {} {}").format(sql.Identifier(name, table), does))


def _number(on: psycopg.Connection[Any], name: str, node: Node) -> None:
    """Number rows from where Citus does on this node."""
    low = node.number * NODE_NUMBERS + 1
    for (sequence,) in on.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = %s", [name]).fetchall():
        on.execute(
            sql.SQL("ALTER SEQUENCE {} MINVALUE {} MAXVALUE {} START {} RESTART").format(
                sql.Identifier(name, sequence), *(sql.Literal(n) for n in (low, low + NODE_NUMBERS - 1, low))
            )
        )


def drop_schema(made: Cluster, node: Node, project: UUID) -> None:
    """Remove the schema of a project with all its rows."""
    with made.connect(node) as on:
        on.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema_of(project))))


def _names(name: str, tables: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier(name, table) for table in tables)
