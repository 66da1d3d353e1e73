"""What the timeline may be narrowed by: one reading of it for pages, API and backtests."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Self

from django.core.exceptions import ValidationError

from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus

#: What a turn `has`, and the count that says so.
HAS: Mapping[str, str] = {
    "continuation": "continuations",
    "repair": "tool_repairs",
    "envelope_retry": "envelope_retries",
}
#: Filters by exact words, and the words where they are a closed list. Several values mean any of them.
WORDS: Mapping[str, Collection[str] | None] = {
    "stop_reason": tuple(StopReason),
    "model_stop_reason": tuple(NormalizedStopReason),
    "status": tuple(TurnStatus),
    "provider": None,
    "model": None,
    "agent": None,
    "has": tuple(HAS),
}
MAX_VALUES = 50
MAX_LENGTH = 500  #: characters of one value
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimelineFilters:
    """Empty filters let every turn through. `has` names what a turn must have, all of it; `since` is included,
    `until` is not; both are about when a turn was made."""

    stop_reason: tuple[str, ...] = ()
    model_stop_reason: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    q: str = ""  #: words in the input or the answer, as one types them into a search engine
    since: datetime | None = None
    until: datetime | None = None

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
        if filters.since and filters.until and filters.since >= filters.until:
            errors["until"] = "until must be later than since; nothing lies between them."
        return filters, errors

    def as_dict(self) -> dict[str, str | list[str]]:
        """What `parse` reads back: JSON types, and only the filters that are set."""
        return {field.name: _written(value) for field in fields(self) if (value := getattr(self, field.name))}


FILTER_NAMES = tuple(field.name for field in fields(TimelineFilters))


def unknown_filters(given: Iterable[str], *, beside: tuple[str, ...] = ()) -> dict[str, str]:
    """A sentence for each name that is no filter, nor one of those `beside`; a slip must not widen what is found."""
    known = (*FILTER_NAMES, *beside)
    return {name: f"There is no filter “{name}”; there are {', '.join(known)}." for name in given if name not in known}


def _values(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """All values of a name, without blank ones."""
    getlist = getattr(given, "getlist", None)
    value = getlist(name) if getlist else given.get(name)
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    if not all(isinstance(item, str) for item in values):
        raise ValidationError(f"{name} must be text, or a list of texts.")
    if len(values) > MAX_VALUES:
        raise ValidationError(f"{name} has {len(values)} values; at most {MAX_VALUES} are looked for at once.")
    if any(len(item) > MAX_LENGTH or "\x00" in item for item in values):
        raise ValidationError(f"{name} must be at most {MAX_LENGTH} characters long, and without U+0000.")
    return tuple(dict.fromkeys(item.strip() for item in values if item.strip()))


def _words(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    known = WORDS[name]
    unknown = [value for value in values if known is not None and value not in known]
    if known is not None and unknown:
        raise ValidationError(f"There is no {name} “{unknown[0]}”; choose from {', '.join(known)}.")
    return values


def _text(_: str, values: tuple[str, ...]) -> str:
    return " ".join(values)


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
        words = f"{name} must be a date or time such as 2026-11-20 or 2026-11-20T14:30:00Z, not “{values[-1]}”."
        raise ValidationError(words) from error
    return max(moment, EPOCH)


def _written(value: tuple[str, ...] | str | datetime) -> str | list[str]:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, str) else list(value)


READERS: Mapping[str, Callable[[str, tuple[str, ...]], Any]] = {
    **dict.fromkeys(WORDS, _words),
    "q": _text,
    "since": _moment,
    "until": _moment,
}
