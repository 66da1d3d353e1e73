"""How numbers stand in sentences, with their units.

Programs get a plain space before a unit. Pages put one there that does not break: `space`, or the filter `unbroken`.
"""

import re
from decimal import Decimal

_MINUTE, _HOUR = 60, 3600
_WRITTEN = re.compile(r"-?([0-9]{1,3}(,[0-9]{3})+|[0-9]+)?(\.[0-9]+)?")
_MOST_DIGITS = 400  #: of a number that is read


def number(value: float) -> str:
    """`1214` as `1,214`, as pages write it; `12.0` as `12`."""
    whole = int(value) if float(value).is_integer() else round(value, 3)
    return f"{whole:,}"


def as_set(value: float, unit: str = "") -> str:
    """A number with every digit that somebody has set: `1,200`, `0.005`; with a unit `99.999 %`."""
    written = f"{Decimal(repr(value)):,f}"
    digits = written.rstrip("0").rstrip(".") if "." in written else written
    return f"{digits} {unit}" if unit else digits


def read_number(text: str) -> int | float | None:
    """The number in plain digits (`120000`, `0.5`) or as pages write it (`120,000`); None of any other text."""
    written = text.strip()
    if not _WRITTEN.fullmatch(written) or not written.strip("-") or len(written) > _MOST_DIGITS:
        return None
    digits = written.replace(",", "")
    return float(digits) if "." in digits else int(digits)


def number_rule(least: float | None, most: float | None, *, whole: bool, unit: str = "") -> str:
    """`must be a whole number from 1 to 1,000.`: what stands behind the name of a number that is wrong.

    `unit`: what it counts, where its name does not say so.
    """
    kind = f"must be a {'whole ' if whole else ''}number{f' of {unit}' if unit else ''}"
    if least is not None and most is not None:
        return f"{kind} from {as_set(least)} to {as_set(most)}."
    if least is not None:
        return f"{kind} of at least {as_set(least)}."
    return f"{kind}." if most is None else f"{kind} of at most {as_set(most)}."


def count(value: float, what: str) -> str:
    """`1 continuation`, `2 continuations`."""
    return f"{number(value)} {what}" if value == 1 else f"{number(value)} {what}s"


def times(value: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(value) or count(value, "time")


def percent(share: float, digits: int = 0, *, space: str = " ") -> str:
    """`43 %` of 0.43, with one digit `8.3 %`. Never 0 % of some, nor 100 % of fewer than all: `< 1 %`, `> 99 %`."""
    least = 10.0**-digits
    if 0 < 100 * share < least:
        return f"< {least:g}{space}%"
    if 100 - least < 100 * share < 100:
        return f"> {100 - least:g}{space}%"
    return f"{number(round(100 * share, digits))}{space}%"


def seconds(value: float, *, space: str = " ") -> str:
    """`120 s`, `0.5 s`: a number of seconds as somebody has set it."""
    return f"{number(value)}{space}s"


def duration(value: float, *, space: str = " ") -> str:
    """How long something took, from seconds: `0.42 s`, `21.4 s`, `3 min 20 s`, `1 h 5 min`."""
    if value < _MINUTE:
        return f"{value:.2f}{space}s" if value < 10 else f"{value:.1f}{space}s"
    hours, rest = divmod(round(value), _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    parts = ((hours, "h"), (minutes, "min")) if hours else ((minutes, "min"), (left, "s"))
    return " ".join(f"{amount}{space}{unit}" for amount, unit in parts if amount)


def milliseconds(value: float, *, space: str = " ") -> str:
    """How long something short took, from milliseconds: `0.42 ms`, `3.1 ms`, `120 ms`."""
    digits = 2 if value < 1 else 1 if value < 10 else 0
    return f"{value:.{digits}f}{space}ms"
