"""How long a provider asks to be left alone, by the headers of its answer or by its message.

In seconds; no clock of ours is asked.
"""

import re
from collections.abc import Iterator, Mapping

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_DAY_FIRST = re.compile(
    r"(?P<day>\d{1,2})[ -](?P<month>[a-z]{3})[ -](?P<year>\d{4}|\d{2}) (?P<time>\d\d:\d\d:\d\d)", re.ASCII
)
_MONTH_FIRST = re.compile(r"(?P<month>[a-z]{3}) +(?P<day>\d{1,2}) (?P<time>\d\d:\d\d:\d\d) (?P<year>\d{4})", re.ASCII)
#: OpenAI and Groq write `Please try again in 1m47.5854s`, also in a stream, which has no header for it; Azure writes
#: `Please retry after 6 seconds`.
_ASKED = re.compile(
    r"\b(?:try again in|retry in|retry after) "
    r"(?:(?P<parts>(?:[0-9]{1,9}(?:\.[0-9]{1,12})?(?:ms|h|m|s)){1,4})|(?P<seconds>[0-9]{1,9}) seconds?)\b",
    re.IGNORECASE,
)
_PART = re.compile(r"([0-9.]+)(ms|h|m|s)", re.IGNORECASE)
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """`retry-after-ms`, then `retry-after` in seconds, then as a date against the answer's own `Date`.

    Names of headers are in lower case. A zero is passed over for a later header that asks for more: Azure sends
    `retry-after-ms: 0` beside `retry-after: 1`.
    """
    waits = list(_waits(headers))
    return next((wait for wait in waits if wait > 0), 0.0 if waits else None)


def _waits(headers: Mapping[str, str]) -> Iterator[float]:
    value = headers.get("retry-after", "")
    for wait in (_number(headers.get("retry-after-ms", ""), 1000), _number(value, 1)):
        if wait is not None:
            yield wait
    until, now = http_date(value), http_date(headers.get("date", ""))
    if until is not None and now is not None:
        yield max(0.0, float(until - now))


def _number(text: str, divisor: int) -> float | None:
    return float(text.strip()) / divisor if _NUMBER.fullmatch(text.strip()) else None


def delay_in_message(message: str) -> float | None:
    """The delay that the message of a refused call names; None if it names none."""
    if (found := _ASKED.search(message)) is None:
        return None
    if found["seconds"]:
        return float(found["seconds"])
    return sum(float(number) * _MILLISECONDS[unit.lower()] for number, unit in _PART.findall(found["parts"])) / 1000


def http_date(text: str) -> int | None:
    """An HTTP date in any of its three forms (RFC 9110 §5.6.7) as seconds since 1970, else None."""
    found = _DAY_FIRST.search(text.lower()) or _MONTH_FIRST.search(text.lower())
    if found is None or found["month"] not in _MONTHS:
        return None
    year, month, day = int(found["year"]), _MONTHS.index(found["month"]) + 1, int(found["day"])
    if len(found["year"]) == 2:
        year += 1900 if year >= 70 else 2000
    hours, minutes, seconds = (int(part) for part in found["time"].split(":"))
    if not (1 <= day <= 31 and hours < 24 and minutes < 60 and seconds <= 60):
        return None
    return ((_days(year, month, day) * 24 + hours) * 60 + minutes) * 60 + seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, counting years from March so that leap days come last."""
    shifted = year - (month <= 2)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + day_of_year - 719468
