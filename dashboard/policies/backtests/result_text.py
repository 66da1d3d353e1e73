"""A backtest's result in one sentence, which includes the undecidable share."""

from collections.abc import Mapping
from typing import Any

from agentcore import number_format
from agentcore.policy import LIMIT_NAMES
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.tallies import SURE
from dashboard.turns.certainty_text import certainty_word

#: A flip that is neither; before shadows told them apart, any flip.
OTHERWISE = {True: "would have ended for another reason", False: "would have ended differently"}
UNENDED = "would have gone on to an end that is not known"
HOW_FAR = {
    Backtest.Status.QUEUED: "a backtest that has not started",
    Backtest.Status.RUNNING: "a backtest in progress",
    Backtest.Status.FAILED: "a backtest that failed",
    Backtest.Status.CANCELLED: "a backtest that was cancelled",
}


def in_words(backtest: Backtest, *, begun: str = "a backtest") -> str:
    """`a backtest over 84 turns: 71 end as recorded, 6 would have completed, 7 not known (8.3 %)`. `begun`: how the
    words begin of one that has run."""
    begun = HOW_FAR.get(Backtest.Status(backtest.status), begun)
    of = f" of {backtest.total:,}" if backtest.done < backtest.total else ""
    turns = f"{backtest.done:,}{of} turn{'' if max(backtest.done, backtest.total) == 1 else 's'}"
    if watched := sum(group.get("watched", 0) for group in backtest.groups):
        turns += f" ({watched:,} only observed)"
    capped = "" if backtest.max_tokens is None else f" with {LIMIT_NAMES['max_tokens']} {backtest.max_tokens:,}"
    if backtest.done:
        begun += ", so far" if backtest.status == Backtest.Status.RUNNING else ""
        return f"{begun} over {turns}{capped}: {tally_in_words(backtest)}".lstrip()
    none = f"{begun} over {turns}{capped}: it found none".lstrip()
    return none if backtest.status == Backtest.Status.DONE else begun + capped


def tally_in_words(backtest: Backtest) -> str:
    """The counts of a backtest that has found something."""
    names = ("gone_on", "sooner", "unended", "proven")
    flips = {name: sum(group.get(name, 0) for group in backtest.groups) for name in names}
    completed = [group.get("completed") for group in backtest.groups]
    flips["completed"] = 0 if None in completed else sum(filter(None, completed))
    counts = {name: getattr(backtest, name) for name in ("same", "flipped", "undecidable", *SURE)}
    return counts_in_words(counts | flips)


def counts_in_words(counts: Mapping[str, Any]) -> str:
    """`71 end as recorded, 6 would have completed, 7 not known (8.3 %); of the 77 with a known end, 60 recorded, …`."""
    certainty = certainty_in_words(counts)
    if not certainty:
        return _ends_in_words(counts)
    decided = counts["same"] + counts["flipped"]
    of = f"of the {decided:,} with a known end, " if counts["undecidable"] else ""
    return f"{_ends_in_words(counts)}; {of}{certainty}"


_SURE_WORDS = {**{name: certainty_word(name) for name in SURE}, "proven": "proven"}


def certainty_in_words(counts: Mapping[str, Any]) -> str:
    """How certain the decided ones are; empty where none was decided."""
    if not counts["same"] + counts["flipped"]:
        return ""
    known = sure_counts(counts)
    told = (f"{count:,} {_SURE_WORDS[name]}" for name, count in known.items() if count)
    return ", ".join(told) or "how certain is not known"


def sure_counts(counts: Mapping[str, Any]) -> dict[str, int]:
    """By certainty, each turn once: what a re-run has proven is not counted as certain again. Empty where some were
    judged before certainties were counted."""
    recorded, certain, estimated = (counts.get(name) for name in SURE)
    if recorded is None or certain is None or estimated is None:
        return {}
    proven: int = counts.get("proven") or 0
    shown = {"recorded": recorded, "certain": certain - proven, "proven": proven, "estimated": estimated}
    return {name: count for name, count in shown.items() if name != "proven" or proven}


def _ends_in_words(counts: Mapping[str, Any]) -> str:
    """`same`, `flipped`, of these `gone_on` and `sooner`, of those gone on `completed` and `proven`, and `undecidable`,
    of these `unended`. What is left of the undecidable is said also where it is none, but not beside those of unknown
    end."""
    same, flipped, unended = counts["same"], counts["flipped"], counts.get("unended", 0)
    undecidable = counts["undecidable"] - unended
    gone_on, sooner = counts.get("gone_on", 0), counts.get("sooner", 0)
    completed = counts.get("completed") or 0
    proven = f" ({counts['proven']:,} proven by a re-run)" if counts.get("proven") else ""
    said = {
        "ends as recorded" if same == 1 else "end as recorded": same,
        f"would have completed{proven}": completed,
        f"would have ended later{'' if completed else proven}": gone_on - completed,
        UNENDED: unended,
        "would have stopped sooner": sooner,
        OTHERWISE["gone_on" in counts]: flipped - gone_on - sooner,
    }
    share = f" ({percent(undecidable, same + flipped + counts['undecidable'])})" if undecidable else ""
    told = [f"{count:,} {words}" for words, count in said.items() if count]
    if undecidable or not unended:
        told.append(f"{undecidable:,} not known{share}")
    return ", ".join(told)


def difference_in_words(*, calls: int, tokens: int, about: bool = False) -> str:
    """`2 calls fewer, 126 tokens fewer`; empty where it is none. `about`: the tokens are an estimate, and say so."""
    told = []
    for count, unit, sign in ((calls, "call", ""), (tokens, "token", "about " if about else "")):
        if count:
            told.append(
                f"{sign}{abs(count):,} {unit}{'' if abs(count) == 1 else 's'} {'more' if count > 0 else 'fewer'}"
            )
    return ", ".join(told)


def percent(count: int, whole: int) -> str:
    """Never 0 % of some, nor 100 % of fewer than all."""
    return number_format.percent(count / whole if whole else 0.0, digits=1)
