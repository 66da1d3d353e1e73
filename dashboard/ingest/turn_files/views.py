"""Turns in and out by page: a form that takes a turn file, a ZIP of them or a log, also dropped on the timeline; chosen
turns as a ZIP."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.ingest.turn_files.file_reader import MAX_BYTES, TOO_LARGE
from dashboard.ingest.turn_files.import_access import while_let_in
from dashboard.ingest.turn_files.import_queue import ImportBusyError
from dashboard.ingest.turn_files.import_runner import LogOutcome, file_import_apart
from dashboard.ingest.turn_files.services import Import
from dashboard.ingest.turn_files.zip_export import turns_bundle
from dashboard.ingest.turn_files.zip_import import FileOutcome, faults_of
from dashboard.platform.disconnects import client_of
from dashboard.timeline.selection import choice_of
from dashboard.turns.origins import vouched_of
from dashboard.turns.timeline_page import address_of


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """The form; a file that was sent becomes a turn, and its page is where one goes on. Of a ZIP each file is told."""
    if request.method != "POST":
        return render(request, "turn_files/import.html")
    unverified, by = request.POST.get("unverified") == "on", cast("User", request.user)
    try:
        file = _file(request)
        imported = file_import_apart(
            read=while_let_in(request, file.read),
            by=by,
            unverified=unverified,
            name=file.name or "log",
            client=client_of(request),
        )
    except ValidationError as error:
        return render(request, "turn_files/import.html", {"faults": faults_of(error)}, status=422)
    except ImportBusyError as error:
        busy = render(request, "turn_files/import.html", {"faults": [("", str(error))]}, status=503)
        busy["Retry-After"] = str(error.wait)
        return busy
    if imported.log is not None:
        return _log_told(request, imported.log, file.name or "log")
    made = imported.outcomes[0].made if imported.outcomes and not imported.bundle else None
    if made is None:
        return _told(request, imported.outcomes)
    messages.success(request, _words(made))
    return redirect("turns:detail", made.turn.id)


@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """The turns chosen on the timeline, as one ZIP of turn files."""
    try:
        choice = choice_of(project=project_current(), given=request.POST)
        bundle = turns_bundle(choice.ids)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(address_of(request.POST.get("query", "")))
    return _PiecewiseFile(bundle, as_attachment=True, filename="turns.zip", headers={"Cache-Control": "no-store"})


class _PiecewiseFile(FileResponse):
    """Read from its file at its reader's pace: where it is served asynchronously, Django reads all of it first. It
    announces no length, for what has one counts as held in memory (`request_guard.unread_answer`)."""

    def set_headers(self, filelike: Any) -> None:
        super().set_headers(filelike)
        del self["Content-Length"]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        file = self.file_to_stream
        while file is not None and (piece := await asyncio.to_thread(file.read, self.block_size)):
            yield piece


def _file(request: HttpRequest) -> "UploadedFile[Any]":
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise ValidationError("Choose a file first.")
    if (file.size or 0) > MAX_BYTES:
        raise ValidationError(TOO_LARGE)
    return file


def _told(request: HttpRequest, outcomes: tuple[FileOutcome, ...]) -> HttpResponse:
    imported = sum(outcome.made is not None and outcome.made.fresh for outcome in outcomes)
    refused = all(outcome.made is None for outcome in outcomes)
    context = {"outcomes": outcomes, "imported": imported}
    return render(request, "turn_files/import.html", context, status=422 if refused else 200)


def _log_told(request: HttpRequest, log: LogOutcome, name: str) -> HttpResponse:
    refused = bool(log.refused) and not log.turns and not log.here
    return render(request, "turn_files/import.html", {"log": log, "name": name}, status=422 if refused else 200)


def _words(made: Import) -> str:
    if not made.fresh:
        return "This turn already exists here. Nothing was imported."
    if not made.verified:
        return f"Imported; its replay differs from the recording: {made.doubt.rstrip('.')}."
    verified = "replay verified, not all compared" if made.missing else "replay verified"
    return f"Imported; {verified}. {vouched_of(made.turn).words}"
