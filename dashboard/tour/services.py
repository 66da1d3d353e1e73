"""Loading the tour and removing it. Both may be done again at any time, by several people at once.

Each lesson's turn and its `Stop` are stored together, by one writer at a time (`_held`), and a constraint allows one
turn of a lesson. So whatever is killed, and whoever clicks twice, loading again starts what is missing and no more. Who
comes while another one writes is told so at once: waiting, fifty of them would hold every place that pages have.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from procrastinate import exceptions
from procrastinate.contrib.django import app

from agentcore.reasons import TurnStatus
from dashboard.accounts.models import User
from dashboard.agents.models import Agent, Connection, Project
from dashboard.live.jobs import QUEUE
from dashboard.live.services import TurnConflict, turn_cancel, turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.timeline.services import turns_erase
from dashboard.tour.lesson import Lesson
from dashboard.tour.lessons import LESSONS
from dashboard.tour.models import Stop
from dashboard.tour.selectors import agents_on_simulator, simulator_of, turns_of_tour
from dashboard.turns.models import UNFINISHED, Turn

NO_SIMULATOR = (
    "This project has no connection “simulator”, or it was changed, and the tour uses no other connection. In the "
    "project “default”, “manage.py up” restores it."
)
SILENT = (
    "The simulator does not answer at {address}. It is part of “manage.py up”. Start that, then load the tour again."
)
BUSY = "The tour is already being loaded or removed. Try again in a few seconds."
ANSWER_SECONDS = 2.0
GO_ON = "go_on_with_tour"  #: the name of the task, which is in `tasks`
LOOK_SECONDS = 1  #: between two looks at turns that have not ended
LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 5201840617))"  #: by project; the number is only ours
FIRST = tuple(lesson for lesson in LESSONS if not lesson.after)
AGAIN = tuple(lesson for lesson in LESSONS if lesson.after)


class TourBusyError(Exception):
    """Another one loads the tour or removes it."""

    def __str__(self) -> str:
        return BUSY


def tour_load(*, project: Project, by: User | None = None) -> int:
    """Start the lessons that have no turn yet; returns how many. Re-runs follow when their originals have ended.

    Raises `ValidationError` in words where the simulator is not there, `TourBusyError` while another one writes.
    """
    with _held(project):
        _require_simulator(simulator_of(project))
        known, agents = turns_of_tour(project), agents_on_simulator(project)
        wanted = [lesson for lesson in FIRST if lesson.key not in known and lesson.agent in agents]
        for lesson in wanted:
            _keep(lesson, _begun(agents[lesson.agent], lesson, by))
        defer_go_on(project)
    return len(wanted)


def defer_go_on(project: Project) -> None:
    """Queue the job that goes on, in the caller's transaction; one that waits already is enough."""
    lock, when = f"tour {project.pk}", {"seconds": LOOK_SECONDS}
    with suppress(exceptions.AlreadyEnqueued), transaction.atomic():
        job = app.configure_task(GO_ON, queue=QUEUE, queueing_lock=lock, schedule_in=when)
        job.defer(project_id=str(project.pk))


def tour_go_on(*, project: Project) -> bool:
    """Start the re-runs whose originals have ended; whether others still wait."""
    try:
        with _held(project):
            return _gone_on(project)
    except TourBusyError:
        return True


def _gone_on(project: Project) -> bool:
    turns = turns_of_tour(project)
    pending = [lesson for lesson in AGAIN if lesson.key not in turns and lesson.after in turns]
    ready = [lesson for lesson in pending if turns[lesson.after].status not in UNFINISHED]
    for lesson in ready:
        if turns[lesson.after].status != TurnStatus.CANCELLED:
            _keep(lesson, _again(turns[lesson.after], lesson))
    return len(ready) < len(pending)


def tour_remove(*, project: Project, by: User) -> tuple[int, int]:
    """Erase the turns of the tour, and no others; how many are erased, and how many had not ended.

    Those are cancelled instead, to be erased when it is called again. Raises `TourBusyError` while another one writes.
    """
    with _held(project):
        turns = list(turns_of_tour(project).values())
        erased = turns_erase(project=project, chosen=[turn.id for turn in turns], by=by)
        left = list(turns_of_tour(project).values())
        for turn in left:
            with suppress(TurnConflict):  # it has just ended
                turn_cancel(turn=turn, by=by.get_username())
    return erased, len(left)


def _require_simulator(simulator: Connection | None) -> None:
    if simulator is None:
        raise ValidationError(NO_SIMULATOR)
    parts = urlsplit(simulator.base_url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise ValidationError(SILENT.format(address=parts.netloc)) from error


@contextmanager
def _held(project: Project) -> Iterator[None]:
    """A transaction of the tour's only writer. Turns are started meanwhile as ever. Raises `TourBusyError`."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK, [f"tour {project.pk}"])
        if cursor.fetchone() != (True,):
            raise TourBusyError
        yield


def _begun(agent: Agent, lesson: Lesson, by: User | None) -> Turn:
    return turn_start(agent=agent, input_text=lesson.prompt, overrides=lesson.overrides, created_by=by)


def _again(turn: Turn, lesson: Lesson) -> Turn:
    rerun = partial(turn_rerun, turn=turn, overrides=lesson.overrides, created_by=turn.created_by)
    return rerun(from_record=lesson.from_record) if lesson.from_record else rerun()


def _keep(lesson: Lesson, turn: Turn) -> None:
    Stop.objects.create(turn=turn, project=turn.project, lesson=lesson.key)
