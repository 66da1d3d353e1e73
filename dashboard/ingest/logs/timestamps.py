"""Times as logs write them, as nanoseconds since 1970 (UTC)."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

_1970 = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800  #: seconds: the years 2000 and 2100, beyond which a number is no time
#: A number is told in the unit in which it is a time of these years.
_UNITS = (10**9, 10**6, 10**3, 1)
_MICROSECOND = timedelta(microseconds=1)

BEGUN = (
    "start_time", "startTime", "started_at", "startedAt", "startedDateTime", "request_time", "timestamp", "time", "ts",
    "created_at", "createdAt", "date", "datetime", "recorded_at", "api_call_start_time", "@timestamp",
)  # fmt: skip
ENDED = ("end_time", "endTime", "ended_at", "endedAt", "completed_at", "response_time", "finished_at")
SECONDS = ("duration", "duration_s", "duration_seconds", "latency", "latency_s", "elapsed", "request_duration")
MILLISECONDS = ("duration_ms", "durationMs", "latency_ms", "latencyMs", "elapsed_ms", "request_duration_ms")


def moment_of(value: Any) -> int | None:
    """None where it is no time. A text without an offset is taken as UTC."""
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST * 10**9:
        return None
    for unit in _UNITS:
        if _EARLIEST <= value * unit / 10**9 < _LATEST:
            return int(value * unit)
    return None


def _of_text(text: str) -> int | None:
    if text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdecimal() and len(text) < 32:
        return moment_of(float(text))
    found = _read(text.strip()[:40])
    if found is None:
        return None
    try:
        since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - _1970
    except OverflowError:
        return None
    nanoseconds = since // _MICROSECOND * 1000
    return nanoseconds if _EARLIEST <= nanoseconds // 10**9 < _LATEST else None


def _read(text: str) -> datetime | None:
    """As ISO 8601 has it, or as the headers of HTTP."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text)
        except (ValueError, IndexError, OverflowError):
            continue
    return None


def first_moment(told: Mapping[str, Any], names: Iterable[str]) -> int | None:
    """The first of these that is a time."""
    return next((found for name in names if (found := moment_of(told.get(name))) is not None), None)


def span_of(told: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """When a call began and ended, as far as its record says."""
    begun, ended = first_moment(told, BEGUN), first_moment(told, ENDED)
    if begun is not None and ended is None:
        lasted = _lasted(told)
        ended = None if lasted is None else begun + lasted
    return begun, ended


def _lasted(told: Mapping[str, Any]) -> int | None:
    for names, unit in ((MILLISECONDS, 10**6), (SECONDS, 10**9)):
        for name in names:
            value = told.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value * unit < 10**15:
                return int(value * unit)
    return None
