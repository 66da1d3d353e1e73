"""What a file says of a record beside its event: as much of its shape as judges and pages lean on.

Its words are those of whoever judged then, so more may stand there, and any text: halves of characters too.
"""

from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, ConfigDict, with_config
from typing_extensions import TypedDict


def _text(given: Any) -> Any:
    if isinstance(given, str):
        return given
    raise ValueError("It must be text")


Said = Annotated[Any, AfterValidator(_text)]
_open = with_config(ConfigDict(strict=True, extra="allow"))


@_open
class Evaluation(TypedDict):
    criterion: Said
    decision: Said
    reason: Said
    context: dict[Any, Any]
    message: NotRequired[Said]


@_open
class Outcome(TypedDict):
    """As `ContinuationOutcome.to_dict` has it."""

    decision: Said
    shouldContinue: bool
    resolvedBy: Said
    stopReason: Said
    evaluations: list[Evaluation]


_MOVE = {"from": Said, "trigger": Said, "to": Said, "reason": Said, "outcome": Outcome | None}
Transition = _open(TypedDict("Transition", _MOVE))  # type: ignore[operator]


@_open
class Observation(TypedDict):
    type: Said


@_open
class _Command(TypedDict):
    """Of any type; `NEEDED` says which must have what."""

    type: Said
    kind: NotRequired[Said]
    attempt: NotRequired[int]
    max_tokens: NotRequired[int]
    request: NotRequired[dict[Any, Any]]
    calls: NotRequired[list[dict[Any, Any]]]
    status: NotRequired[Said]
    stop_reason: NotRequired[Said]
    terminal_reason: NotRequired[Said]
    notice: NotRequired[Said]
    error_code: NotRequired[Said | None]
    error_message: NotRequired[Said]


NEEDED = {
    "call_model": ("kind", "attempt", "max_tokens", "request"),
    "run_tools": ("calls",),
    "finish": ("status", "stop_reason", "terminal_reason"),
}


def _whole(command: Any) -> Any:
    missing = [name for name in NEEDED.get(command["type"], ()) if name not in command]
    if missing:
        raise ValueError(f"A command of this type has {', '.join(missing)} too")
    return command


Command = Annotated[_Command, AfterValidator(_whole)]

__all__ = ["Command", "Observation", "Transition"]
