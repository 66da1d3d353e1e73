"""The words of the filter `provider`: one rule for what facets count, what a filter finds, and what pages call it.

A turn of the simulator is stored under the dialect that its connection speaks, such as `openai`. Pages call its
provider `simulator`, so that nobody takes its turns for calls that cost money. These are turns of its own models, and
turns that have no answer and whose agent is on its connection: it refuses every other model. Programs filter by what
is stored, as the API returns it: their word `openai` becomes `stored:openai`, and finds turns whether or not the
simulator was called.
"""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Q, QuerySet

from agentcore.reasons import TurnStatus
from dashboard.agents.models import Project
from dashboard.agents.samples import agents_on_simulator, is_simulator
from dashboard.simulator.model_table import MODELS, SIMULATOR
from dashboard.turns.models import Turn

STORED = "stored:"  #: before a provider as it is stored
UNANSWERED = Q(model_stop_reason=None)  #: turns and cohorts without an answer
WITHOUT_ANSWERS = [status.value for status in TurnStatus if status != TurnStatus.COMPLETED]


def words_of(provider: str | None, *, simulated: bool) -> tuple[str, ...]:
    """All words that find a turn, what pages call its provider first; none where that is not known."""
    return () if provider is None else (SIMULATOR if simulated else provider, stored(provider))


def is_of_simulator(model: str | None, agent: str | None, *, answered: bool, on_simulator: Collection[str]) -> bool:
    """Whether the simulator was called. `on_simulator`: `agents_on_simulator` of the project."""
    return model in MODELS or (not answered and agent in on_simulator)


def simulated(project: Project, *, unanswered: Q) -> Q:
    """As `is_of_simulator`, of rows with `model` and `agent_name`."""
    return Q(model__in=MODELS) | unanswered & Q(agent_name__in=agents_on_simulator(project=project))


def asks_simulator(turn: Turn) -> bool:
    """Whether the simulator answered the turn, or refused it: it answers its own models only, and refuses all others.
    A turn with an answer of another model was another server's, even if its agent is on the simulator by now."""
    if turn.model in MODELS:
        return True
    if turn.model_stop_reason is not None or turn.agent is None or not is_simulator(turn.agent.connection):
        return False
    return turn.overrides.get("connection") in (None, SIMULATOR)


def turn_provider_shown(turn: Turn) -> str:
    """What pages call the provider of a turn."""
    return SIMULATOR if asks_simulator(turn) else turn.provider


def stored(word: str) -> str:
    """The word that finds all turns stored under this provider. The simulator's own word is left as it is."""
    return word if word == SIMULATOR or word.startswith(STORED) else f"{STORED}{word}"


def name_of(word: str) -> str:
    """The word as a page names it."""
    provider = word.removeprefix(STORED)
    return word if provider == word else f"{provider}, simulator included"


def condition(words: Iterable[str], project: Project) -> Q:
    """That a turn or a cohort is found by any of these words."""
    words = set(words)
    kept = [word.removeprefix(STORED) for word in words if word.startswith(STORED)]
    shown = [word for word in words if not word.startswith(STORED)]
    if not shown:
        return Q(provider__in=kept)
    of_simulator = simulated(project, unanswered=UNANSWERED)
    found = Q(provider__in=kept) | Q(provider__in=shown) & ~of_simulator
    return found | of_simulator if SIMULATOR in words else found


def terms(words: Iterable[str]) -> list[tuple[str, str]]:
    """By column and value, what the search index knows of the turns that these words find, and of some more."""
    found = [("provider", word.removeprefix(STORED)) for word in words]
    if SIMULATOR not in words:
        return found
    return [*found, *(("model", model) for model in MODELS), *(("status", status) for status in WITHOUT_ANSWERS)]


def providers_in(rows: QuerySet[Any], *, of_simulator: Q, most: int) -> list[str]:
    """What pages call the providers of rows with `provider`, in the order of the alphabet."""
    own = rows.exclude(of_simulator).order_by("provider").values_list("provider", flat=True).distinct()
    found = {provider for provider in own[:most] if provider}
    return sorted(found | {SIMULATOR}) if rows.filter(of_simulator).exists() else sorted(found)
