"""Cohorts go some time after their last turn, and never under one, also beside writers."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from django.db import connection, connections, transaction

from dashboard.agents.selectors import project_default
from dashboard.timeline import cohort_cleanup, rollups
from dashboard.timeline.facets import facets
from dashboard.timeline.services import turns_erase
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Cohort, Turn
from tests.dashboard.timeline import populations

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user(django_user_model):
    return django_user_model.objects.create(username="ada")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(cohort_cleanup, "WAIT_SECONDS", 0.0)


def make_turn(model: str) -> Turn:
    return populations.make_turn(model=model, status="completed")


def erase(user, *turns: Turn) -> None:
    turns_erase(project=project_default(), chosen=[turn.pk for turn in turns], by=user)
    rollups.fold_all()


def models() -> list[str]:
    return sorted(Cohort.objects.values_list("model", flat=True))


def test_cohorts_of_erased_turns_are_deleted_and_others_kept(user):
    kept = make_turn(model="kept")
    erase(user, *(make_turn(model=f"invented {n}") for n in range(5)))
    assert len(models()) == 6
    assert (cohort_cleanup.sweep(), cohort_cleanup.sweep()) == (0, 5)
    assert models() == ["kept"]
    assert rollups.counts(project=project_default()) == {Turn.objects.get(id=kept.id).cohort: 1}


def test_a_cohort_is_kept_until_its_counts_are_folded(user):
    turn = make_turn(model="counted")
    turns_erase(project=project_default(), chosen=[turn.pk], by=user)
    assert (cohort_cleanup.sweep(), cohort_cleanup.sweep()) == (0, 0)
    rollups.fold_all()
    assert (cohort_cleanup.sweep(), cohort_cleanup.sweep()) == (0, 1)


def test_a_cohort_that_just_became_empty_is_kept(user, monkeypatch):
    monkeypatch.setattr(cohort_cleanup, "WAIT_SECONDS", 60.0)
    erase(user, make_turn(model="left"))
    assert (cohort_cleanup.sweep(), cohort_cleanup.sweep()) == (0, 0)


def test_a_turn_after_the_first_step_gets_its_own_cohort(user):
    erase(user, make_turn(model="again"))
    cohort_cleanup.sweep()
    turn = make_turn(model="again")
    assert cohort_cleanup.sweep() == 1
    assert [Turn.objects.get(id=turn.id).cohort] == [*Cohort.objects.values_list("id", flat=True)]


@contextmanager
def a_writer_that_has_not_committed() -> Iterator[None]:
    """Within the block its turn is written; after it the transaction is over."""
    written, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                make_turn(model="raced")
                written.set()
                may_commit.wait(20)
        finally:
            connections.close_all()

    thread = threading.Thread(target=write)
    thread.start()
    assert written.wait(20)
    try:
        yield
    finally:
        may_commit.set()
        thread.join(20)


def test_a_writer_that_found_the_cohort_before_it_became_empty_is_waited_for(user):
    erase(user, make_turn(model="raced"))
    with a_writer_that_has_not_committed():
        cohort_cleanup.sweep()  # which sees no turn
        assert cohort_cleanup.sweep() == 0
        assert models() == ["raced"]
    cohort_cleanup.sweep()  # the turn moves
    turn = Turn.objects.get()
    assert Cohort.objects.get(id=turn.cohort).left_at is None
    rollups.fold_all()
    cohort_cleanup.sweep()
    assert (models(), rollups.counts(project=project_default())) == (["raced"], {turn.cohort: 1})


def test_a_writer_that_starts_before_the_first_step_commits_is_waited_for(user, monkeypatch):
    monkeypatch.setattr(cohort_cleanup, "WAIT_SECONDS", 0.5)
    erase(user, make_turn(model="raced"))
    with ExitStack() as written:
        with transaction.atomic():
            cohort_cleanup.sweep()
            written.enter_context(a_writer_that_has_not_committed())  # it still finds the cohort by its key
        time.sleep(0.6)
        assert cohort_cleanup.sweep() == 0
    assert Cohort.objects.filter(id=Turn.objects.get().cohort).exists()


def test_a_turn_being_written_is_not_waited_for(user):
    erase(user, make_turn(model="raced"))
    with a_writer_that_has_not_committed():
        cohort_cleanup.sweep()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Turn.objects.select_for_update().get()
                held.set()
                done.wait(20)
        finally:
            connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(20)
    Cohort.objects.exclude(left_at=None).update(left_at="2020-01-01T00:00Z")
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '5s'")
        cohort_cleanup.sweep()
        cursor.execute("RESET statement_timeout")
    done.set()
    thread.join(20)
    assert Cohort.objects.filter(id=Turn.objects.get().cohort).exists()


def test_a_page_counts_the_largest_cohorts_and_says_so(monkeypatch):
    monkeypatch.setattr("dashboard.timeline.turn_counts.MOST_COHORTS", 3)
    for model in ("often", "often", "twice", "twice", *(f"invented {n}" for n in range(9))):
        make_turn(model=model)
    found = next(
        facet for facet in facets(project=project_default(), filters=TimelineFilters()) if facet.name == "model"
    )
    assert [(value.value, value.count) for value in found.values[:2]] == [("often", 2), ("twice", 2)]
    assert len(found.values) == 3
    assert all(value.capped for value in found.values)


@pytest.fixture
def many_cohorts(monkeypatch):
    """More than a page counts."""
    monkeypatch.setattr("dashboard.timeline.turn_counts.MOST_COHORTS", 3)
    for model in ("often", "often", "twice", "twice", "thrice", "thrice", "thrice", *(f"invented {n}" for n in "12")):
        make_turn(model=model)


def counted(**filters) -> dict[str, list[tuple[str, int, bool]]]:
    found = facets(project=project_default(), filters=TimelineFilters(**filters))
    return {facet.name: [(value.value, value.count, value.capped) for value in facet.values] for facet in found}


def test_turns_with_a_selected_rare_value_are_counted(many_cohorts):
    found = counted(model=("invented 1",))
    assert ("invented 1", 1, True) in found["model"]
    assert found["status"] == [("completed", 1, False)]


def test_turns_with_an_excluded_rare_value_are_counted(many_cohorts):
    found = counted(not_model=("invented 1", "often"))
    assert {("invented 1", 1, True), ("often", 2, True)} <= {*found["model"]}
    assert found["status"] == [("completed", 6, False)]


def test_exactly_the_maximum_number_of_cohorts_is_a_complete_count(many_cohorts, monkeypatch):
    monkeypatch.setattr("dashboard.timeline.turn_counts.MOST_COHORTS", 5)
    assert not any(capped for values in counted().values() for _, _, capped in values)


def test_a_turn_that_starts_while_a_page_counts_breaks_nothing(monkeypatch):
    """The page had read all cohorts first, and the count then named one that it did not know."""
    make_turn(model="old")
    read = rollups.counts

    def counted(**given):
        make_turn(model=f"new {Cohort.objects.count()}")
        return read(**given)

    monkeypatch.setattr(rollups, "counts", counted)
    found = {facet.name: facet for facet in facets(project=project_default(), filters=TimelineFilters())}
    assert [value.value for value in found["model"].values] == ["new 1", "old"]
