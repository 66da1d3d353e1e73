"""The words of the filter `provider`: one rule for what facets count, what a filter finds, and what pages call it.

A turn of the simulator is stored under the dialect that its connection speaks, such as `openai`. Pages call its
provider `simulator`, so that nobody takes its turns for calls that cost money. Programs filter by what is stored, as
the API returns it: their word `openai` becomes `stored:openai`, and finds turns whether or not the simulator answered.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet

from dashboard.agents.samples import is_simulator
from dashboard.simulator.model_table import MODELS, SIMULATOR, provider_shown
from dashboard.turns.models import Turn

STORED = "stored:"  #: before a provider as it is stored


def words_of(provider: str | None, model: str | None) -> tuple[str, ...]:
    """All words that find a turn, what pages call its provider first; none where that is not known."""
    return () if provider is None else (provider_shown(provider, model or ""), stored(provider))


def asks_simulator(turn: Turn) -> bool:
    """Whether the simulator answered the turn, or refused it: it answers its own models only, and refuses all others.
    A turn with an answer of another model was another server's, even if its agent is on the simulator by now."""
    if turn.model in MODELS:
        return True
    if turn.output_tokens or turn.agent is None or not is_simulator(turn.agent.connection):
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


def condition(words: Iterable[str]) -> Q:
    """That a row with `provider` and `model` is found by any of these words."""
    words = set(words)
    kept = [word.removeprefix(STORED) for word in words if word.startswith(STORED)]
    shown = [word for word in words if not word.startswith(STORED)]
    simulated = Q(model__in=MODELS)
    found = Q(provider__in=kept) | Q(provider__in=shown) & ~simulated
    return found | simulated if SIMULATOR in words else found


def terms(words: Iterable[str]) -> list[tuple[str, str]]:
    """By column and value, what the search index knows of the turns that these words find, and of some more."""
    found = [("provider", word.removeprefix(STORED)) for word in words]
    return [*found, *(("model", model) for model in MODELS)] if SIMULATOR in words else found


def condition_sql(word: str) -> tuple[str, dict[str, object]]:
    """As `condition` of one word, as SQL with its values by their names."""
    if word == SIMULATOR:
        return "(model = ANY(%(simulated)s) OR provider = %(provider)s)", _values(word)
    if word.startswith(STORED):
        return "provider = %(provider)s", _values(word.removeprefix(STORED))
    return "provider = %(provider)s AND NOT model = ANY(%(simulated)s)", _values(word)


def _values(provider: str) -> dict[str, object]:
    return {"provider": provider, "simulated": list(MODELS)}


def providers_in(rows: QuerySet[Any], *, most: int) -> list[str]:
    """What pages call the providers of rows with `provider` and `model`, in the order of the alphabet."""
    own = rows.exclude(model__in=MODELS).order_by("provider").values_list("provider", flat=True).distinct()
    found = {provider for provider in own[:most] if provider}
    return sorted(found | {SIMULATOR}) if rows.filter(model__in=MODELS).exists() else sorted(found)
