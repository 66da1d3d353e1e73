"""The turn: its page, and what of it is fetched apart."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.turns import history, selectors
from dashboard.turns.attempts_page import attempts_page
from dashboard.turns.comments.selectors import remarks_of
from dashboard.turns.curl import curl_command, goes_to_its_connection
from dashboard.turns.damage import DAMAGED, damage_of
from dashboard.turns.damaged_pages import damaged_context
from dashboard.turns.endings import ENDINGS
from dashboard.turns.glossary import CERTAINTIES, LIMITS, SETTINGS, TERMS
from dashboard.turns.models import Turn
from dashboard.turns.operation import operation
from dashboard.turns.page_lookup import attempt_or_404, turn_or_404
from dashboard.turns.payload_view import readable_of
from dashboard.turns.read_ahead import reading_once
from dashboard.turns.turn_view import turn_view

MAX_PIECES = 200  #: of a stream that are listed
MAX_SHOWN_RAW = 400_000  #: characters of one request or answer on the page; all of it can be downloaded


@require_safe
def detail(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """One turn, at its last transition or at `?step=`, with `?attempts=` a page of its attempts."""
    turn = turn_or_404(turn_id)
    step, attempts = (_number(request.GET.get(name)) for name in ("step", "attempts"))
    try:
        with reading_once():
            return render(request, "turns/detail.html", turn_context(turn, step=step, attempts=attempts))
    except DAMAGED:
        if not (faults := damage_of(turn_id)):
            raise
    shown = {**damaged_context(turn, faults), "remarks": remarks_of(turn)}
    return render(request, "turns/damaged.html", shown)


def turn_context(turn: Turn, *, step: int | None = None, attempts: int | None = None) -> dict[str, Any]:
    """What the parts of a turn are rendered from, by page and by socket."""
    page = turn_view(turn, step=step)
    moment = page.shown.moment
    return {
        "page": page,
        "turn": turn,
        "attempts": attempts_page(turn.id, number=attempts, attempt=moment.attempt if moment else 1),
        "children": list(turn.children.order_by("id")),
        "runs_on": selectors.is_gone_on_from(turn.id),
        "remarks": remarks_of(turn),
        "operating": operation.value.operator_view(turn, page.shown.snapshot) if page.unfinished else None,
        "refused": operation.value.refused_of(turn),
    }


@require_safe
def transcript(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The whole of a long transcript, which the turn's page has a part of; to htmx the transcript alone."""
    turn = turn_or_404(turn_id)
    page = turn_view(turn, step=_number(request.GET.get("step")))
    context = {"page": page, "turn": turn, "window": page.everything}
    return render(request, "turns/_answer.html" if _by_htmx(request) else "turns/transcript.html", context)


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    """Every term of the pages with its explanation."""
    terms = {
        "limits": [*LIMITS.values(), *SETTINGS.values()],
        "terms": TERMS.values(),
        "certainties": CERTAINTIES.values(),
    }
    return render(request, "turns/glossary.html", {**terms, "readings": ENDINGS})


@require_safe
def attempts(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """A page of a turn's attempts; a fragment."""
    turn = turn_or_404(turn_id)
    page = attempts_page(turn.id, number=_number(request.GET.get("attempts")) or 1)
    return render(request, "turns/_attempts.html", {"turn": turn, "attempts": page})


def _by_htmx(request: HttpRequest) -> bool:
    return bool(request.headers.get("HX-Request"))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else None


@require_safe
def attempt_raw(request: HttpRequest, turn_id: UUID, index: int) -> HttpResponse:
    """What was sent and what came back, byte for byte: a page of its own, and to htmx a part of the turn's."""
    turn, attempt = turn_or_404(turn_id), attempt_or_404(turn_id, index)
    sent, came = history.request_body_of(attempt), history.raw_response_of(attempt)
    pieces = history.pieces_of(attempt)
    cut = max(len(sent), len(came)) > MAX_SHOWN_RAW
    context = {
        "turn": turn,
        "attempt": attempt,
        "readable": None if cut else readable_of(attempt, sent, came),
        "request_text": sent[:MAX_SHOWN_RAW],
        "request_size": len(sent.encode("utf-8", "surrogatepass")),
        "response_text": came[:MAX_SHOWN_RAW].decode("utf-8", "replace"),
        "response_size": len(came),
        "cut": cut,
        "curl": curl_command(turn, attempt, sent) if len(sent) <= MAX_SHOWN_RAW else "",
        "elsewhere": not goes_to_its_connection(turn, attempt),
        "pieces": pieces[:MAX_PIECES],
        "more_pieces": max(0, len(pieces) - MAX_PIECES),
    }
    return render(request, "turns/_raw.html" if _by_htmx(request) else "turns/raw.html", context)


@require_safe
def attempt_bytes(_: HttpRequest, turn_id: UUID, index: int) -> HttpResponse:
    """The answer's bytes as a file that no browser interprets."""
    if (removed := turn_or_404(turn_id).raw_removed_at) is not None:
        raise Http404(f"The response was removed on {removed:%Y-%m-%d %H:%M} UTC, as the turn's policy says.")
    came = history.raw_response_of(attempt_or_404(turn_id, index))
    return _file(came, f"{turn_id}-call-{index}.txt")


@require_safe
def attempt_request(_: HttpRequest, turn_id: UUID, index: int) -> HttpResponse:
    """The request's bytes as a file."""
    sent = history.request_body_of(attempt_or_404(turn_or_404(turn_id).id, index))
    return _file(sent.encode("utf-8", "surrogatepass"), f"{turn_id}-call-{index}-request.json")


@require_safe
def attempt_curl(_: HttpRequest, turn_id: UUID, index: int) -> HttpResponse:
    """The request as a command for bash, as a file."""
    turn, attempt = turn_or_404(turn_id), attempt_or_404(turn_id, index)
    command = curl_command(turn, attempt, history.request_body_of(attempt))
    return _file(f"{command}\n".encode(), f"{turn_id}-call-{index}.sh")


def _file(content: bytes, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type="application/octet-stream", headers=headers)
