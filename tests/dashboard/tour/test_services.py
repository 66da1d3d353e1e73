"""Loading the tour is safe at any time and by anybody; removing it takes its own turns and nothing else."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, connections, transaction

from dashboard.accounts.models import User
from dashboard.agents.models import Agent, Connection, Project
from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.tour import services
from dashboard.tour.models import Stop
from dashboard.tour.selectors import tour_of, turns_of_tour
from dashboard.tour.services import defer_go_on
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.driving import drive

TABLES = (Turn, Record, Attempt)


def jobs() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT task_name FROM procrastinate_jobs ORDER BY task_name")
        return [name for (name,) in cursor.fetchall()]


def loaded(project: Project) -> dict[str, Turn]:
    """All three lessons, driven to their ends."""
    services.tour_load(project=project)
    for turn in turns_of_tour(project).values():
        drive(turn)
    services.tour_go_on(project=project)
    drive(turns_of_tour(project)["forked"])
    return turns_of_tour(project)


def test_loading_it_again_starts_nothing(short: Project):
    assert services.tour_load(project=short) == 2
    assert services.tour_load(project=short) == 0
    assert jobs() == ["drive_turn", "drive_turn", "go_on_with_tour"]


def _elsewhere(act: Callable[[], int]) -> int:
    """What it returns in a thread, which has a connection of its own."""

    def acted() -> int:
        try:
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(acted).result(timeout=20)


def test_windows_that_load_it_simultaneously_start_each_lesson_once_without_waiting(short: Project):
    with transaction.atomic():
        assert services.tour_load(project=short) == 2
        with pytest.raises(services.TourBusyError, match="already being loaded"):
            _elsewhere(lambda: services.tour_load(project=short))
    assert _elsewhere(lambda: services.tour_load(project=short)) == 0
    assert Turn.objects.count() == Stop.objects.count() == 2


def test_during_removal_nobody_can_load_it_and_its_job_retries_later(short: Project, admin_user: User):
    loaded(short)
    with transaction.atomic():
        assert services.tour_remove(project=short, by=admin_user) == (3, 0)
        for act in (services.tour_load, partial(services.tour_remove, by=admin_user)):
            with pytest.raises(services.TourBusyError):
                _elsewhere(partial(act, project=short))
        assert _elsewhere(lambda: services.tour_go_on(project=short)), "it looks again"
    assert not Stop.objects.exists()


def test_a_load_that_is_killed_leaves_nothing_and_the_next_one_is_complete(
    short: Project, monkeypatch: pytest.MonkeyPatch
):
    begun = services._begun

    def killed_at_the_second(agent: Agent, lesson: object, by: User | None) -> Turn:
        if Stop.objects.exists():
            raise KeyboardInterrupt
        return begun(agent, lesson, by)

    with monkeypatch.context() as patch:
        patch.setattr(services, "_begun", killed_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            services.tour_load(project=short)
    assert (Turn.objects.count(), Stop.objects.count(), jobs()) == (0, 0, [])
    assert services.tour_load(project=short) == 2


def test_a_re_run_whose_job_was_lost_is_started_by_loading_again(short: Project):
    services.tour_load(project=short)
    for turn in turns_of_tour(short).values():
        drive(turn)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    assert services.tour_load(project=short) == 0
    assert jobs() == ["go_on_with_tour"]


def test_the_job_is_queued_once(short: Project):
    defer_go_on(short)
    defer_go_on(short)
    assert jobs() == ["go_on_with_tour"]


def test_removing_it_deletes_its_turns_and_no_others(short: Project, admin_user: User):
    own = drive(turn_start(agent=Agent.objects.get(name="sim-essay"), input_text="Mine."))
    before = [model.objects.count() for model in TABLES]
    again = drive(turn_rerun(turn=loaded(short)["whole-calls"], overrides={"max_tokens": 300}))
    assert services.tour_remove(project=short, by=admin_user) == (3, 0)
    assert set(Turn.objects.all()) == {own, again}
    Turn.objects.get(pk=again.pk)  # one that a person made of a lesson stays
    assert Stop.objects.count() == 0
    assert Record.objects.filter(turn_id=own.pk).exists()
    assert [model.objects.exclude(**{_key(model): again.pk}).count() for model in TABLES] == before
    assert services.tour_remove(project=short, by=admin_user) == (0, 0)
    assert services.tour_load(project=short) == 2


def _key(model: type[object]) -> str:
    return "pk" if model is Turn else "turn_id"


def test_a_running_turn_is_cancelled_and_deleted_by_the_next_removal(short: Project, admin_user: User):
    services.tour_load(project=short)
    drive(turns_of_tour(short)["gave-up"])
    assert services.tour_remove(project=short, by=admin_user) == (1, 1)
    (left,) = turns_of_tour(short).values()
    assert drive(left).status == "cancelled"
    assert not services.tour_go_on(project=short)
    assert services.tour_remove(project=short, by=admin_user) == (1, 0)


def test_an_erased_turn_can_be_loaded_again(short: Project, admin_user: User):
    from dashboard.timeline.services import turns_erase

    turns_erase(project=short, chosen=[loaded(short)["whole-calls"].id], by=admin_user)
    assert "whole-calls" not in turns_of_tour(short)
    assert services.tour_load(project=short) == 1


@pytest.mark.parametrize("changes", [{"base_url": "https://api.openai.com/v1"}, {"name": "elsewhere"}])
def test_it_calls_only_the_simulator(short: Project, changes: dict[str, str]):
    Connection.objects.filter(name="simulator").update(**changes)
    with pytest.raises(ValidationError, match="has no connection “simulator”, or it was changed"):
        services.tour_load(project=short)
    assert not tour_of(short).simulator
    assert not Turn.objects.exists()


def test_an_agent_moved_to_another_connection_is_skipped_and_the_page_says_so(short: Project):
    agent = Agent.objects.get(name="sim-tools")
    other = Connection.objects.create(project=short, name="paid", provider="openai", base_url="https://api.openai.com")
    Agent.objects.filter(pk=agent.pk).update(connection=other)
    assert services.tour_load(project=short) == 1
    (place,) = [place for place in tour_of(short).places if place.lesson.key == "whole-calls"]
    assert place.why_not == "Its agent “sim-tools” no longer uses the simulator."


def test_an_unreachable_simulator_is_reported_before_anything_is_stored(short: Project):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    Connection.objects.filter(name="simulator").update(base_url=f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ValidationError, match=f"does not answer at 127.0.0.1:{port}"):
        services.tour_load(project=short)
    assert not Turn.objects.exists()
