"""Turns in and out by page: a form that takes a file, also one dropped on the timeline; a ZIP of chosen turns."""

from typing import cast

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.keeping.bundling import turns_bundle
from dashboard.keeping.reading import MAX_BYTES, TOO_LARGE
from dashboard.keeping.services import Import, turn_import
from dashboard.timeline.choosing import choice_of
from dashboard.turns.listing import address_of


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """The form; a file that was sent becomes a turn, and its page is where one goes on."""
    if request.method != "POST":
        return render(request, "keeping/import.html")
    unverified = request.POST.get("unverified") == "on"
    try:
        made = turn_import(content=_content(request), by=cast("User", request.user), unverified=unverified)
    except ValidationError as error:
        return render(request, "keeping/import.html", {"faults": _faults(error)}, status=422)
    messages.success(request, _words(made))
    return redirect("turns:detail", made.turn.id)


@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """The turns chosen on the timeline, as one ZIP of turn files."""
    try:
        choice = choice_of(project=project_default(), given=request.POST)
        bundle = turns_bundle(choice.ids)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(address_of(request.POST.get("query", "")))
    return FileResponse(bundle, as_attachment=True, filename="turns.zip", headers={"Cache-Control": "no-store"})


def _content(request: HttpRequest) -> bytes:
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise ValidationError("Choose a file first.")
    if (file.size or 0) > MAX_BYTES:
        raise ValidationError(TOO_LARGE)
    content: bytes = file.read()
    return content


def _faults(error: ValidationError) -> list[tuple[str, str]]:
    """Where and what, for people."""
    by_field = error.message_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.messages}
    return [("" if f == NON_FIELD_ERRORS else f, words) for f, messages_ in by_field.items() for words in messages_]


def _words(made: Import) -> str:
    if not made.fresh:
        return "This very turn is here already; nothing was imported."
    return "Imported; it replays true." if made.verified else "Imported, as a turn that does not replay true."
