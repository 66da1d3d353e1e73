"""What the timeline may be narrowed by: one reading of it for pages, API and backtests."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from django.core.exceptions import ValidationError

from agentcore.errors import ErrorType
from agentcore.lint import CODES
from agentcore.quoting import quoted
from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from agentcore.resource import RESOURCES
from dashboard.turns.filter_names import filter_named
from dashboard.turns.provider_words import STORED, stored
from dashboard.turns.search_words import phrases_in

#: What a turn `has`, and the count that says so.
HAS: Mapping[str, str] = {
    "continuation": "continuations",
    "repair": "tool_repairs",
    "envelope_retry": "envelope_retries",
}
#: Filters by exact words, and the words where they are a closed list. Several values mean any of them.
WORDS: Mapping[str, Collection[str] | None] = {
    "stop_reason": tuple(StopReason),
    "terminal_reason": None,
    "resource": RESOURCES,
    "model_stop_reason": tuple(NormalizedStopReason),
    "status": tuple(TurnStatus),
    "provider": None,
    "model": None,
    "agent": None,
    "tag": None,
    "error_type": tuple(ErrorType),
    "has": tuple(HAS),
    "lint": tuple(CODES),
}
#: By the filter that asks for words, the one that asks for turns without any of them.
NOT: Mapping[str, str] = {name: f"not_{name}" for name in WORDS}
MAX_VALUES = 50
MAX_LENGTH = 500  #: characters of one value
#: Of a search: each phrase is looked for in texts by a regular expression of its own.
MOST_PHRASES, MOST_PHRASE_WORDS = 16, 500
#: Filters by a number: at least the first, at most the second. Tokens are input and output; durations
#: milliseconds, without those for which a turn was held.
RANGES: Mapping[str, tuple[str, str]] = {
    "tokens": ("tokens_from", "tokens_to"),
    "duration_ms": ("duration_from", "duration_to"),
}
NUMBERS = frozenset(name for pair in RANGES.values() for name in pair)
FOLDS = ("runs",)
#: Of answers that were requested again: a truncated one, or a tool call that was. Others were malformed.
REQUESTED_AGAIN = ("truncated",)
#: What lists may be sorted by, beside their age.
SORTED_BY = ("prompt", "ended", "limit", "cost", "raw", "failed", "model", "cap", "tokens", "tries", "more", "took")
#: The order of all lists where no other is chosen, and the same backwards. Neither is limited to the newest turns.
NEWEST_FIRST, OLDEST_FIRST = "age", "-age"
#: The orders of a list; with `-`, the largest first.
SORTS = tuple(f"{sign}{name}" for name in (*SORTED_BY, NEWEST_FIRST) for sign in ("", "-"))
CHOICES: Mapping[str, tuple[str, ...]] = {"requested_again": REQUESTED_AGAIN, "fold": FOLDS, "sort": SORTS}
MOST = 2**63 - 1  #: Postgres' largest bigint
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimelineFilters:
    """Empty filters let every turn through. `has` names what a turn must have, all of it; a `not_` filter leaves out
    what has any of its words. `since` is included, `until` is not; both are about when a turn was made."""

    stop_reason: tuple[str, ...] = ()
    terminal_reason: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()
    model_stop_reason: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    error_type: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    lint: tuple[str, ...] = ()
    not_stop_reason: tuple[str, ...] = ()
    not_terminal_reason: tuple[str, ...] = ()
    not_resource: tuple[str, ...] = ()
    not_model_stop_reason: tuple[str, ...] = ()
    not_status: tuple[str, ...] = ()
    not_provider: tuple[str, ...] = ()
    not_model: tuple[str, ...] = ()
    not_agent: tuple[str, ...] = ()
    not_tag: tuple[str, ...] = ()
    not_error_type: tuple[str, ...] = ()
    not_has: tuple[str, ...] = ()
    not_lint: tuple[str, ...] = ()
    tokens_from: int | None = None
    tokens_to: int | None = None
    duration_from: int | None = None  #: such a filter lets no turn through that has not ended
    duration_to: int | None = None
    q: str = ""  #: words in the input or the answer, as one types them into a search engine
    since: datetime | None = None
    until: datetime | None = None
    run: UUID | None = None  #: turns of this run alone
    #: one of REQUESTED_AGAIN: turns with a tool call or an envelope that was requested again for this reason
    requested_again: str = ""
    fold: str = ""  #: `runs`: of each run, lists have its newest turn alone
    sort: str = ""  #: one of SORTS (`sort_order`); empty: newest first

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> tuple[Self, dict[str, str]]:
        """Reads a QueryDict, or a mapping of words and lists of words; other keys are not looked at.

        Returns the filters that could be read, and a sentence by the name of each that could not.
        """
        read: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for name, reader in READERS.items():
            try:
                read[name] = reader(name, _values(given, name))
            except ValidationError as error:
                errors[name] = error.messages[0]
        filters = cls(**read)
        return filters, errors | _empty_ranges(filters)

    @classmethod
    def parse_stored(cls, given: Mapping[str, Any]) -> tuple[Self, dict[str, str]]:
        """As `parse`, for programs: a provider is asked for as it is stored (`provider_words`)."""
        filters, errors = cls.parse(given)
        words, refused = tuple(map(stored, filters.provider)), tuple(map(stored, filters.not_provider))
        return replace(filters, provider=words, not_provider=refused), errors

    def range_of(self, column: str) -> tuple[int | None, int | None]:
        """What the column (one of RANGES) is at least and at most; None: no such bound."""
        low, high = RANGES[column]
        return getattr(self, low), getattr(self, high)

    def as_dict(self) -> dict[str, str | list[str]]:
        """What `parse` reads back: JSON types, and only the filters that are set."""
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: _written(value) for name, value in given if value not in ((), "", None)}


FILTER_NAMES = tuple(field.name for field in fields(TimelineFilters))


def unknown_filters(given: Iterable[str], *, beside: tuple[str, ...] = ()) -> dict[str, str]:
    """A sentence for each name that is no filter, nor one of those `beside`; a slip must not widen what is found."""
    known = (*FILTER_NAMES, *beside)
    return {
        name: f"There is no filter {quoted(name)}; there are {', '.join(known)}." for name in given if name not in known
    }


def _values(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """All values of a name, without blank ones."""
    getlist = getattr(given, "getlist", None)
    value = getlist(name) if getlist else given.get(name)
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    if name in NUMBERS:
        values = [str(item) if type(item) is int else item for item in values]
    if not all(isinstance(item, str) for item in values):
        raise ValidationError(f"{filter_named(name)} must be text, or a list of texts.")
    if len(values) > MAX_VALUES:
        raise ValidationError(
            f"{filter_named(name)} has {len(values)} values; at most {MAX_VALUES} are looked for at once."
        )
    if any(len(item.removeprefix(STORED)) > MAX_LENGTH or "\x00" in item for item in values):
        raise ValidationError(f"{filter_named(name)} must have at most {MAX_LENGTH} characters, and no U+0000.")
    return tuple(dict.fromkeys(item.strip() for item in values if item.strip()))


def _words(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    known = WORDS[name.removeprefix("not_")]
    unknown = [value for value in values if known is not None and value not in known]
    if known is not None and unknown:
        raise ValidationError(_not_one_of(name, unknown[0], known))
    return values


def _not_one_of(name: str, value: str, known: Collection[str]) -> str:
    return f"{filter_named(name)} must be one of {', '.join(known)}, not {quoted(value)}."


def _text(_: str, values: tuple[str, ...]) -> str:
    asked = " ".join(values)
    phrases = phrases_in(asked)
    if len(phrases) > MOST_PHRASES or sum(phrases) > MOST_PHRASE_WORDS:
        raise ValidationError(
            f"A search may have at most {MOST_PHRASES} phrases, with {MOST_PHRASE_WORDS} words together. Words in "
            "quotation marks are a phrase, and so are words that punctuation joins, such as foo.py."
        )
    return asked


def _moment(name: str, values: tuple[str, ...]) -> datetime | None:
    """A date or a time in ISO 8601; without an offset it is UTC."""
    if not values:
        return None
    # In an address that was not escaped, the plus of an offset has become a space.
    text = values[-1].replace(" ", "+") if "T" in values[-1] else values[-1]
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        example = "2026-11-20 or 2026-11-20T14:30:00Z"
        words = f"{filter_named(name)} must be a date or time such as {example}, not {quoted(values[-1])}."
        raise ValidationError(words) from error
    return max(moment, EPOCH)


def _run(name: str, values: tuple[str, ...]) -> UUID | None:
    try:
        return UUID(values[-1]) if values else None
    except ValueError as error:
        raise ValidationError(f"{filter_named(name)} must be the id of a run, not {quoted(values[-1])}.") from error


def _choice(name: str, values: tuple[str, ...]) -> str:
    known = CHOICES[name]
    if values and values[-1] not in known:
        raise ValidationError(_not_one_of(name, values[-1], known))
    return values[-1] if values else ""


def _order(name: str, values: tuple[str, ...]) -> str:
    chosen = _choice(name, values)
    return "" if chosen == NEWEST_FIRST else chosen


def _whole(name: str, values: tuple[str, ...]) -> int | None:
    if not values:
        return None
    if not (values[-1].isascii() and values[-1].isdecimal()):
        what = "a whole number of milliseconds," if name.startswith("duration_") else "a whole number"
        raise ValidationError(f"{filter_named(name)} must be {what} such as 2000, not {quoted(values[-1])}.")
    return min(int(values[-1]), MOST)


def _empty_ranges(filters: TimelineFilters) -> dict[str, str]:
    errors = {}
    if filters.since and filters.until and filters.since >= filters.until:
        errors["until"] = (
            f"{filter_named('until')} must be later than {filter_named('since')}; nothing lies between them."
        )
    for low, high in RANGES.values():
        least, most = getattr(filters, low), getattr(filters, high)
        if least is not None and most is not None and least > most:
            errors[high] = f"{filter_named(high)} must not be less than {filter_named(low)}."
    return errors


def _written(value: tuple[str, ...] | str | datetime | int | UUID) -> str | list[str]:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else str(value)


READERS: Mapping[str, Callable[[str, tuple[str, ...]], Any]] = {
    **dict.fromkeys((*WORDS, *NOT.values()), _words),
    **{name: _whole for pair in RANGES.values() for name in pair},
    "q": _text,
    "since": _moment,
    "until": _moment,
    "run": _run,
    "requested_again": _choice,
    "fold": _choice,
    "sort": _order,
}
