"""What is answered for a turn that cannot be read any more: what is wrong with it, and of its page what can be read.

Other addresses of such a turn answer 409 with the same words, in the form their caller speaks.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin
from django.utils.safestring import SafeString

from dashboard.accounts.access import is_machine
from dashboard.accounts.error_responses import machine_error
from dashboard.turns.attempts_page import LENGTH
from dashboard.turns.damage import DAMAGED, damage_of
from dashboard.turns.models import Turn
from dashboard.turns.selectors import attempts_of
from dashboard.turns.turn_view import TurnView, turn_view

_Read = TypeVar("_Read")
log = structlog.get_logger(__name__)

CONFLICT = 409
WORDS = "The stored data of turn {turn} was changed or damaged: {faults} What can be read is on the turn's page."
#: The parts of a turn's page that are shown of its history, where that can be read.
_PARTS = ("turns/_machine.html", "turns/_answer.html", "turns/_moments.html")


class DamagedTurnMiddleware(MiddlewareMixin):
    """Pages and files of a turn; the API has handlers of its own for what it raises."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The answer, where what was raised comes of a turn that is damaged; None: as usual."""
        if not (words := damage_words(request, error)):
            return None
        if is_machine(request.path_info):
            return machine_error(request, CONFLICT, words)
        template = "turns/_damaged.html" if request.headers.get("HX-Request") else "turns/part_damaged.html"
        return render(request, template, {"told": words, "turn_id": _turn_of(request)}, status=CONFLICT)


def damage_words(request: HttpRequest, error: Exception) -> str:
    """Which turn is damaged and how, where a request about one ended with this error; empty: it is another fault."""
    return damage_words_of(_turn_of(request), error, path=request.path)


def damage_words_of(turn_id: UUID | None, error: Exception, *, path: str) -> str:
    """As `damage_words`, of what was asked about this turn at `path`."""
    faults = damage_of(turn_id) if turn_id is not None and isinstance(error, DAMAGED) else []
    if faults:
        log.warning("turn_not_shown", turn=str(turn_id), path=path, exc_info=error)
    return WORDS.format(turn=turn_id, faults=" ".join(faults)) if faults else ""


def damaged_context(turn: Turn, faults: list[str]) -> dict[str, Any]:
    """What can be shown of a turn: its row, its history where that can be read, and each attempt that can."""
    page = _read(lambda: turn_view(turn))
    return {"turn": turn, "faults": faults, "parts": [*_parts(turn, page)], "attempts": [*_attempts(turn)]}


def _turn_of(request: HttpRequest) -> UUID | None:
    found = getattr(request, "resolver_match", None)
    value = found.kwargs.get("turn_id") if found is not None else None
    return _read(lambda: UUID(str(value)))


def _parts(turn: Turn, page: TurnView | None) -> Iterator[SafeString]:
    if page is not None:
        context = {"turn": turn, "page": page, "shown": page.shown, "window": page.everything, "sealed": True}
        parts = (_read(partial(render_to_string, part, context)) for part in _PARTS)
        yield from (part for part in parts if part is not None)


def _attempts(turn: Turn) -> Iterator[tuple[int, SafeString | None]]:
    for attempt in attempts_of(turn.id)[:LENGTH]:
        context = {"turn": turn, "attempt": attempt}
        yield attempt.index, _read(partial(render_to_string, "turns/_attempt.html", context))


def _read(reading: Callable[[], _Read]) -> _Read | None:
    try:
        return reading()
    except DAMAGED:
        return None
