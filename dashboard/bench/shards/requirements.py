"""What Citus asks of tables that are sharded by schema, and of tables that are sharded by rows, beside what we have.

Of the rules of Citus 12 and newer: a foreign key leads to a table of the same schema or to a reference table; triggers
on distributed tables need `citus.enable_unsafe_triggers` and may only do what is local to their node; a sequence for a
column of type integer cannot be used on another node than the coordinator. Sharded by rows, each distributed table has
the distribution column, and so have each of its unique constraints and foreign keys to other distributed tables.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dashboard.bench.shards.catalogue import Catalogue, ForeignKey, Table
from dashboard.bench.shards.placement import COORDINATOR, LEFT_OUT, NOTHING, PROJECT, REFERENCE, WIDENED

DISTRIBUTION_COLUMN = "project_id"
_NARROW = ("integer", "smallint")


@dataclass(frozen=True, slots=True)
class ByRows:
    """What stands in the way of sharding by rows."""

    without_column: tuple[str, ...]  #: tables
    unique_without: tuple[str, ...]  #: unique constraints
    keys_without: tuple[str, ...]  #: foreign keys between distributed tables
    statement_triggers: tuple[str, ...]  #: which would run once on each shard


def place_of(table: str) -> str:
    """The word for where a table is placed. Raises KeyError for one that is not."""
    for word, names in (("project", PROJECT), ("reference", REFERENCE), ("coordinator", COORDINATOR)):
        if table in names:
            return word
    raise KeyError(table)


def is_left_out(key: ForeignKey) -> bool:
    """Whether a foreign key is not made where projects have schemas."""
    to_project = key.table in PROJECT and key.target == "agents_project"
    return to_project or any((key.table, column) in LEFT_OUT for column in key.columns)


def faults(catalogue: Catalogue) -> Iterator[str]:
    """What is not placed, and what Citus would refuse, each in a sentence. None is a schema that is fit."""
    placed = [*PROJECT, *REFERENCE, *COORDINATOR]
    yield from (f"{name} is placed twice." for name in sorted(set(placed)) if placed.count(name) > 1)
    yield from (
        f"{name} is not placed: add it to placement.py." for name in sorted(catalogue.tables.keys() - {*placed})
    )
    yield from (f"{name} has a placement, but does not exist." for name in sorted({*placed} - catalogue.tables.keys()))
    known = [table for name, table in catalogue.tables.items() if name in placed]
    for table in known:
        yield from _table_faults(table, catalogue)
    yield from (f"{words} leads to another node." for words in _crossing(catalogue))
    yield from (f"{name} is an exclusion constraint." for name in catalogue.excluding)


def _table_faults(table: Table, catalogue: Catalogue) -> Iterator[str]:
    place, columns = place_of(table.name), {column.name: column for column in table.columns}
    if place == "project" and (by := PROJECT[table.name]) != NOTHING and by.column not in columns:
        yield f"{table.name} has no column {by.column} that leads to its project."
    if place == "reference":
        yield from (f"The trigger {each.name} of {table.name} would run on every node." for each in table.triggers)
    if place == "project":
        for trigger in table.triggers:
            beyond = sorted(_named(trigger.function, catalogue) - PROJECT.keys() - REFERENCE)
            yield from (
                f"The trigger {trigger.name} of {table.name} uses {name}, which is elsewhere." for name in beyond
            )
        for column in table.columns:
            if column.numbered and column.type in _NARROW and (table.name, column.name) not in WIDENED:
                yield f"{table.name}.{column.name} is numbered on the node of a project and is too narrow for it."


def _named(function: str, catalogue: Catalogue, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The tables that a function names, itself or in the functions that it calls."""
    words = {*re.findall(r"\w+", catalogue.functions.get(function, ""))} - {function} - seen
    called = words & catalogue.functions.keys()
    within = frozenset(words & catalogue.tables.keys())
    return within.union(*(_named(name, catalogue, seen | {function}) for name in called))


def _crossing(catalogue: Catalogue) -> Iterator[str]:
    for key in catalogue.foreign_keys:
        try:
            of, to = place_of(key.table), place_of(key.target)
        except KeyError:
            continue  # told as not placed
        if to not in (of, "reference") and not is_left_out(key):
            yield f"The foreign key {key.table}({', '.join(key.columns)}) to {key.target}"


def by_rows(catalogue: Catalogue) -> ByRows:
    """What sharding the same tables by rows would ask for, with the project as the distribution column."""
    tables = [catalogue.tables[name] for name in PROJECT]
    without = tuple(table.name for table in tables if DISTRIBUTION_COLUMN not in table.stored)
    unique = tuple(
        f"{table.name} ({', '.join(each.columns)})"
        for table in tables
        for each in table.unique
        if DISTRIBUTION_COLUMN not in each.columns
    )
    keys = tuple(
        f"{key.table} ({', '.join(key.columns)}) to {key.target}"
        for key in catalogue.foreign_keys
        if key.table in PROJECT and key.target in PROJECT and DISTRIBUTION_COLUMN not in key.columns
    )
    triggers = tuple(
        f"{table.name}.{each.name}"
        for table in tables
        for each in table.triggers
        if not each.each_row and not each.on_truncate
    )
    return ByRows(without, unique, keys, triggers)
