"""The simulation: what is stored, spread over nodes by project, checked, used, verified and moved."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from uuid import UUID

import psycopg

from dashboard.agents.models import Project
from dashboard.bench.chaos.scratch import scratch
from dashboard.bench.shards import checks
from dashboard.bench.shards.catalogue import Catalogue, read_catalogue
from dashboard.bench.shards.layout import Cluster, cluster, schema_of
from dashboard.bench.shards.placement import COORDINATOR, PROJECT, REFERENCE
from dashboard.bench.shards.queries import QUERIES, query_faults, verify
from dashboard.bench.shards.requirements import by_rows, faults, is_left_out
from dashboard.bench.shards.rows import balanced, copy_reference, digests, move, node_of, place
from dashboard.bench.shards.traffic import fill
from dashboard.timeline.node_cleanup import nodes_sweep
from dashboard.turns.seals.sealed_turns import Sealed
from dashboard.turns.seals.tombstones import removed_on_purpose

PROJECTS = 8
TURNS = 2_000
NODES = 4
_SIZE = """
SELECT (SELECT count(*) FROM turns_turn), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
  FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = %s::regnamespace
"""
Say = Callable[[str], None]


def shards(*, nodes: int, turns: int, stored: bool, say: Say) -> bool:
    """Whether all holds. `stored`: take what is in the database instead of filling a scratch one with so many turns."""
    with ExitStack() as opened:
        if not stored:
            opened.enter_context(scratch())
            fill(projects=PROJECTS, turns=turns)
        return simulate(nodes=nodes, say=say)


def simulate(*, nodes: int, say: Say) -> bool:
    """The same for the default database, which is only read, but for messages that no turn refers to any more."""
    nodes_sweep()
    catalogue = read_catalogue()
    told = [*_tell_schema(catalogue, say)]
    if told:
        say(f"{len(told)} faults: nothing was spread.")
        return False
    with cluster(nodes, catalogue) as made:
        told += _tell("spread", _spread(made, say), say)
        projects = [project for project in Project.objects.order_by("name") if project.pk in made.placed]
        told += _tell("rows of one project refer to rows on the same node", checks.keys_broken(made), say)
        told += _tell("unique constraints hold on each node and over all", checks.keys_twice(made), say)
        told += _tell("verified", _verified(made, projects, say), say)
        told += _tell("moved", _moved(made, say), say)
        told += _tell("used", _used(made, projects, say), say)
        told += _tell("verified after being moved and used", _verified(made, projects, say), say)
    say(f"{len(told)} faults")
    return not told


def _tell(name: str, found: Iterable[str], say: Say) -> list[str]:
    told = list(found)
    for words in told:
        say(f"  FAULT {words}")
    say(f"{name}: {f'{len(told)} faults' if told else 'yes'}")
    return told


def _tell_schema(catalogue: Catalogue, say: Say) -> Iterator[str]:
    left = sum(map(is_left_out, catalogue.foreign_keys))
    say(
        f"{len(catalogue.tables)} tables: {len(PROJECT)} in the schema of each project, {len(REFERENCE)} on each node, "
        f"{len(COORDINATOR)} on the coordinator; {left} of {len(catalogue.foreign_keys)} foreign keys are left out"
    )
    needed = by_rows(catalogue)
    say(
        f"sharding by rows instead: {len(needed.without_column)} tables have no project, {len(needed.unique_without)} "
        f"unique constraints and {len(needed.keys_without)} foreign keys are without it, and "
        f"{len(needed.statement_triggers)} triggers on statements would run once for each shard"
    )
    yield from _tell("the schema is fit for sharding by schemas", faults(catalogue), say)


def _spread(made: Cluster, say: Say) -> Iterator[str]:
    ids = list(Project.objects.order_by("name").values_list("pk", flat=True))
    with psycopg.connect(**made.parameters, autocommit=True) as source:
        source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        copy_reference(made, source)
        for project in ids:
            place(made, source, project, node_of(project, made.nodes))
        stored = digests(source, made.catalogue)
        source.execute("COMMIT")
    yield from checks.rows_lost(made, stored)
    _tell_nodes(made, say)


def _sizes(made: Cluster) -> dict[UUID, tuple[int, int]]:
    """Turns and bytes of each project."""
    found = {}
    for project, node in made.placed.items():
        with made.connect(node, path=schema_of(project)) as on:
            row = on.execute(_SIZE, [schema_of(project)]).fetchone()
            assert row is not None
            found[project] = (int(row[0]), int(row[1]))
    return found


def _tell_nodes(made: Cluster, say: Say) -> None:
    """How even the nodes are."""
    sizes, fullest, total = _sizes(made), 0, 0
    for node in made.nodes:
        here = [sizes[project] for project, at in made.placed.items() if at == node]
        turns, size = (sum(each) for each in zip(*here, strict=True)) if here else (0, 0)
        say(f"  node {node.number}: {len(here):>3} projects {turns:>9,} turns {size / 1e6:>9,.1f} MB")
        fullest, total = max(fullest, turns), total + turns
    if total:
        say(f"  the fullest node has {fullest * len(made.nodes) / total:.2f} times the turns of the mean")


def _verified(made: Cluster, projects: list[Project], say: Say) -> Iterator[str]:
    erased, bared, _ = removed_on_purpose()
    sealed = Sealed(erased)
    yield from (f"{place}: {words}" for place, words in sealed.read_on())
    turns = 0
    for project in projects:
        checked = verify(made, project, sealed, bared)
        turns += checked.turns
        yield from (f"{place}: {words}" for place, words in (*checked.faults, *checked.changed))
    say(f"  {turns:,} turns on {len(made.nodes)} nodes, {len(sealed.numbers):,} of them sealed")


def _moved(made: Cluster, say: Say) -> Iterator[str]:
    """Each project to the next node, and then to the one where it makes the nodes even."""
    following = {id_: made.nodes[node.number % len(made.nodes)] for id_, node in made.placed.items()}
    turns = {project: size[0] for project, size in _sizes(made).items()}
    for targets in (following, balanced(turns, made.nodes)):
        going = [(project, to) for project, to in targets.items() if made.placed[project] != to]
        for project, to in going:
            try:
                move(made, project, to)
            except ValueError as error:
                yield f"project {project}: {error}"
        say(f"  {len(going)} projects moved")
    _tell_nodes(made, say)


def _used(made: Cluster, projects: list[Project], say: Say) -> Iterator[str]:
    for project in projects:
        yield from query_faults(made, project)
    say(f"  {len(QUERIES)} kinds of queries and writes in {len(projects)} projects: {', '.join(QUERIES)}")
