"""The `max_tokens` that a provider is sent. Where nobody set one, none is: Whystop only calculates with the setup's. A
dialect that demands one is sent that, and pages say so.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.events import Setup
from agentcore.messages import DEMANDED, NO_CAP, ChatRequest
from agentcore.providers import get_provider
from dashboard.turns.models import Turn
from dashboard.turns.record_reader import acts_of

DEFAULT_CAP = 16_384  #: tokens of output that are calculated with where nobody says how many, or no record does
NO_CAP_SET = "no limit set"  #: what pages say in place of a number
NOT_RECORDED = "not recorded"  #: the same, of calls that were made elsewhere
UNRECORDED = "unknown"  #: of a setup's `uncapped`: whether a cap was sent is not recorded
CAP_UNKNOWN = "cap_unknown"  #: the code of an import's note that says the same


def cap_in_words(cap: int | None) -> str:
    return NO_CAP_SET if cap is None else f"{cap:,}"


def cap_of_turn(cap: int | None, setup: Setup | None) -> str:
    """The cap of a turn's calls, for its page. A trace or a log may not say what was sent: then it is not recorded, or
    about what the truncated answer used."""
    known = setup is None or setup.extra.get("uncapped") != UNRECORDED
    return cap_in_words(cap) if known else _derived(cap)


def cap_in_list(turn: Turn) -> str:
    """The same of a turn in a list, whose setup is not read: by the notes of its import."""
    notes = turn.ingested.notes if hasattr(turn, "ingested") else ()
    known = sum(note["code"] == CAP_UNKNOWN for note in notes) < max(1, turn.attempts)  # a note for each such call
    return cap_in_words(turn.max_tokens) if known else _derived(turn.max_tokens)


def _derived(cap: int | None) -> str:
    return NOT_RECORDED if cap in (None, DEFAULT_CAP) else f"≈ {cap:,}"


def cap_is_recorded(turn: Turn) -> bool:
    """Whether the recording says what cap was sent, or that none was."""
    began = turn.setup.get("setup") or (turn.base_snapshot or {}).get("setup") or {}
    return (began.get("extra") or {}).get("uncapped") != UNRECORDED


def sent_cap(asked: Setup | ChatRequest) -> int | None:
    """In tokens; None where none is sent."""
    return None if asked.extra.get("uncapped") == NO_CAP else asked.max_tokens


def cap_note(asked: Setup, provider: str) -> dict[str, str]:
    """What stands in `extra` where a turn that was asked so is asked of this provider; nothing where somebody set a
    cap."""
    return unset_cap(provider) if asked.extra.get("uncapped") in (NO_CAP, DEMANDED) else {}


def unset_cap(provider: str) -> dict[str, str]:
    """What stands in `extra` of a call whose cap nobody set."""
    return {"uncapped": DEMANDED if get_provider(provider).demands_cap else NO_CAP}


def cap_demanded(turn: Turn) -> bool:
    """Whether the cap that was sent is Whystop's own, for nobody set one and the dialect demands it."""
    began = turn.setup.get("setup") or (turn.base_snapshot or {}).get("setup") or {}
    demanded = (began.get("extra") or {}).get("uncapped") == DEMANDED
    if not demanded or turn.policy.get("max_tokens") or turn.max_tokens != began.get("max_tokens"):
        return False
    # An operator may have set just that number.
    return all(act.event.get("max_tokens") is None for act in acts_of([turn.id]))


def demand_in_words(provider: str) -> str:
    """Why a cap was sent that nobody had set."""
    return f"Not set by the caller; {provider} requires a limit."


def commanded_cap(command: Mapping[str, Any]) -> int | None:
    """The same of a recorded `call_model`."""
    unset = command["request"].get("extra", {}).get("uncapped") == NO_CAP
    return None if unset else command["max_tokens"]


def cap_agrees(stored: object, asked: Setup | ChatRequest) -> bool:
    """Whether a row has the right one. Core versions before 13 stored what Whystop calculates with."""
    return stored in (sent_cap(asked), asked.max_tokens)
