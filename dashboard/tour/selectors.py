"""Reads of the tour: its turns, what is missing of it, and where someone begins who has signed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.samples import is_simulator
from dashboard.agents.selectors import agent_list, connection_list
from dashboard.simulator.model_table import SIMULATOR
from dashboard.tour.lesson import Lesson
from dashboard.tour.lessons import BY_KEY, GROUPS, LESSONS
from dashboard.tour.models import Stop
from dashboard.turns.models import UNFINISHED, Turn

SOON = timedelta(seconds=10)  #: within which the job that starts re-runs has looked, if a worker lives
GONE = "Its agent “{agent}” no longer uses the simulator."


@dataclass(frozen=True, slots=True)
class Place:
    """A lesson and its turn, or why it has none."""

    lesson: Lesson
    number: int  #: from 1
    turn: Turn | None
    why_not: str = ""
    awaited: bool = False  #: its turn will start soon by itself

    @property
    def unfinished(self) -> bool:
        return self.turn is not None and self.turn.status in UNFINISHED


@dataclass(frozen=True, slots=True)
class Tour:
    """`groups`: all lessons by what they are about. `missing`: lessons that could be loaded and are not."""

    groups: Mapping[str, tuple[Place, ...]]
    simulator: bool

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(place for places in self.groups.values() for place in places)

    @property
    def first(self) -> Turn | None:
        """Where the tour begins."""
        return next((place.turn for place in self.places if place.turn), None)

    @property
    def loaded(self) -> int:
        return sum(place.turn is not None for place in self.places)

    @property
    def missing(self) -> int:
        return sum(place.turn is None and not place.why_not for place in self.places)

    @property
    def ended(self) -> int:
        return sum(place.turn is not None and not place.unfinished for place in self.places)

    @property
    def under_way(self) -> bool:
        """Whether a turn of it runs, or a re-run waits for the turn that it repeats."""
        return any(place.unfinished or place.awaited for place in self.places)


def simulator_of(project: Project) -> Connection | None:
    """The connection to the built-in simulator; None where somebody removed it or gave it another address."""
    found = connection_list(project=project).filter(name=SIMULATOR).first()
    return found if found is not None and is_simulator(found) else None


def agents_on_simulator(project: Project) -> dict[str, Agent]:
    """By their names."""
    simulator = simulator_of(project)
    agents = agent_list(project=project).filter(connection=simulator) if simulator else ()
    return {agent.name: agent for agent in agents}


def turns_of_tour(project: Project) -> dict[str, Turn]:
    """The turns of the tour by the keys of their lessons."""
    stops = Stop.objects.filter(project=project).select_related("turn")
    return {stop.lesson: stop.turn for stop in stops}


def tour_of(project: Project) -> Tour:
    turns, agents = turns_of_tour(project), agents_on_simulator(project)
    numbers = {lesson.key: number for number, lesson in enumerate(LESSONS, 1)}

    def place(lesson: Lesson) -> Place:
        why_not = "" if lesson.agent in agents else GONE.format(agent=lesson.agent)
        turn = turns.get(lesson.key)
        awaited = turn is None and _is_soon(turns.get(lesson.after))
        return Place(lesson, numbers[lesson.key], turn, why_not, awaited)

    groups = {group: tuple(map(place, lessons)) for group, lessons in GROUPS.items()}
    return Tour(groups, simulator=simulator_of(project) is not None)


def _is_soon(original: Turn | None) -> bool:
    """Whether the re-run of a turn is about to start: that runs, or has ended only now."""
    if original is None or original.status in UNFINISHED:
        return original is not None
    ended = original.finished_at
    return ended is not None and timezone.now() - ended < SOON


def lesson_of(turn: Turn) -> tuple[int, Lesson, UUID | None] | None:
    """The number of the lesson that a turn belongs to, the lesson, and the turn of the next one; None of any other."""
    stop = Stop.objects.filter(turn=turn.pk).first()
    if stop is None or stop.lesson not in BY_KEY:
        return None
    number = next(n for n, lesson in enumerate(LESSONS, 1) if lesson.key == stop.lesson)
    turns = dict(Stop.objects.filter(project=stop.project_id).values_list("lesson", "turn"))
    following = (turns[lesson.key] for lesson in LESSONS[number:] if lesson.key in turns)
    return number, BY_KEY[stop.lesson], next(following, None)


def first_steps_path() -> str | None:
    """Where someone begins who has signed in: the first steps, as long as there is no turn; None: the timeline."""
    return None if Turn.objects.exists() else reverse("tour:page")
