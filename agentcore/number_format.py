"""How numbers stand in sentences."""


def number(value: float) -> str:
    """`1214` as `1,214`, as pages write it; `12.0` as `12`."""
    whole = int(value) if float(value).is_integer() else round(value, 3)
    return f"{whole:,}"


def count(value: float, what: str) -> str:
    """`1 continuation`, `2 continuations`."""
    return f"{number(value)} {what}" if value == 1 else f"{number(value)} {what}s"


def times(value: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(value) or count(value, "time")
