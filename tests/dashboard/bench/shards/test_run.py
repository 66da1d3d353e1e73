"""Turns spread over databases by project: all checks hold, and each names what does not."""

import io
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.bench.shards import checks, run
from dashboard.bench.shards.catalogue import read_catalogue
from dashboard.bench.shards.layout import NODE_NUMBERS, Cluster, Node, cluster, schema_of
from dashboard.bench.shards.queries import query_faults, verify
from dashboard.bench.shards.rows import balanced, copy_reference, digests, move, node_of, place
from dashboard.bench.shards.traffic import fill
from dashboard.turns.models import Turn
from dashboard.turns.seals.sealed_turns import Sealed
from dashboard.turns.seals.services import seal_make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def projects() -> list[Project]:
    return fill(projects=2, turns=20)


@pytest.fixture
def made(projects: list[Project]) -> Iterator[Cluster]:
    """Two nodes, each with one project."""
    with cluster(2, read_catalogue()) as cluster_:
        with psycopg.connect(**cluster_.parameters, autocommit=True) as source:
            copy_reference(cluster_, source)
            for project, node in zip(projects, cluster_.nodes, strict=True):
                place(cluster_, source, project.pk, node)
        yield cluster_


@pytest.mark.usefixtures("data_dir")
def test_stored_turns_are_distributed_used_moved_and_verified_on_other_databases(projects: list[Project]):
    seal_make(now=timezone.now())
    out, turns = io.StringIO(), Turn.objects.count()
    with suppress(CommandError):
        call_command("bench", "shards", stored=True, nodes=2, stdout=out)
    told = out.getvalue()
    assert told.endswith("\n0 faults\n"), told
    begun = Turn.objects.filter(last_seq__gt=0).count()
    assert f"{begun} turns on 2 nodes, {begun} of them sealed" in told
    for name in ("spread", "unique constraints hold on each node and over all", "moved", "used"):
        assert f"\n{name}: yes\n" in told
    assert Turn.objects.count() == turns


def test_a_failed_check_is_an_error_of_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "faults", lambda _: ["turns_new is not placed."])
    out = io.StringIO()
    with pytest.raises(CommandError, match="A check failed"):
        call_command("bench", "shards", stored=True, nodes=2, stdout=out)
    assert "FAULT turns_new is not placed." in out.getvalue()
    assert out.getvalue().endswith("1 faults: nothing was spread.\n")


@pytest.mark.nightly  # three databases; by day the whole run above passes all checks, and fails by one
def test_each_check_names_what_fails(made: Cluster, projects: list[Project]):
    first, second = projects
    with psycopg.connect(**made.parameters, autocommit=True) as source:
        stored = {
            name: (a[0] + b[0], a[1] + b[1])
            for (name, a), b in zip(
                digests(source, made.catalogue, first.pk).items(),
                digests(source, made.catalogue, second.pk).values(),
                strict=True,
            )
        }
    assert [*checks.rows_lost(made, stored), *checks.keys_broken(made), *checks.keys_twice(made)] == []
    with made.connect(made.placed[first.pk], path=schema_of(first.pk)) as on:
        on.execute("SET session_replication_role = replica")
        on.execute("DELETE FROM turns_attempt WHERE ctid = (SELECT min(ctid) FROM turns_attempt)")
        on.execute("DELETE FROM turns_node")
    lost = list(checks.rows_lost(made, stored))
    count = stored["turns_attempt"][0]
    assert f"turns_attempt: {count} rows were stored, and the nodes have {count - 1}, or others." in lost
    assert any("turns_turn refer to rows of turns_node" in words for words in checks.keys_broken(made))
    checked = verify(made, first, Sealed({}), frozenset())
    assert checked.faults
    with made.connect(made.placed[second.pk], path=schema_of(second.pk)) as on:
        on.execute("SET session_replication_role = replica")
        taken = Turn.objects.filter(project=first).values_list("id", flat=True)[0]
        on.execute("UPDATE turns_turn SET id = %s WHERE ctid = (SELECT min(ctid) FROM turns_turn)", [taken])
    assert "turns_turn (id): 1 values are on more than one node." in list(checks.keys_twice(made))
    with made.connect(made.placed[second.pk], path=schema_of(second.pk)) as on:
        on.execute("DROP TABLE turns_checkpoint CASCADE")
    assert any("turns_checkpoint" in words for words in query_faults(made, second))


@pytest.mark.nightly  # by day the whole run above moves a project and compares its rows
def test_rows_of_one_schema_are_numbered_like_citus_and_move_completely_or_not_at_all(
    made: Cluster, projects: list[Project], monkeypatch: pytest.MonkeyPatch
):
    first, second = projects
    before = _digests_of(made, second)
    assert list(query_faults(made, first)) == []
    assert _digests_of(made, second) == before
    node = made.placed[first.pk]
    with made.connect(node) as on:  # by a path without the schema, as Citus calls triggers
        on.execute(f"UPDATE {schema_of(first.pk)}.turns_turn SET status = 'held'")
        numbers = on.execute(f"SELECT max(id), min(id) FROM {schema_of(first.pk)}.turns_cohort").fetchone()
    assert numbers is not None
    assert numbers[0] > node.number * NODE_NUMBERS > numbers[1]
    before = _digests_of(made, first)
    monkeypatch.setattr("dashboard.bench.shards.rows._copy", lambda *_: None)
    with pytest.raises(ValueError, match="Rows of these tables differ after the move"):
        move(made, first.pk, made.placed[second.pk])
    monkeypatch.undo()
    assert made.placed[first.pk] == node
    assert _digests_of(made, first) == before
    move(made, first.pk, made.placed[second.pk])
    assert made.placed[first.pk] == made.placed[second.pk]
    assert _digests_of(made, first) == before


def test_a_project_always_has_the_same_node_and_many_projects_use_all_nodes():
    nodes = [Node(n, f"node_{n}") for n in range(1, 5)]
    ids = [Project(name="one").pk for _ in range(200)]
    assert [node_of(project, nodes) for project in ids] == [node_of(project, nodes) for project in ids]
    assert {node_of(project, nodes) for project in ids} == {*nodes}


def test_the_largest_projects_are_balanced_first_each_to_the_emptiest_node():
    one, two = (Node(n, f"node_{n}") for n in (1, 2))
    sizes = {Project(name=str(size)).pk: size for size in (2, 5, 3, 4)}
    places = balanced(sizes, [one, two])
    assert {sizes[project]: node.number for project, node in places.items()} == {5: 1, 4: 2, 3: 2, 2: 1}


def _digests_of(made: Cluster, project: Project):
    with made.connect(made.placed[project.pk], path=schema_of(project.pk)) as on:
        return digests(on, made.catalogue)
