"""Exports of real instrumentations, recorded, beside the checkout; and what is stored of them."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from dashboard.agents.selectors import project_default
from dashboard.ingest.models import NO_SENDER, Ingested, Piece
from dashboard.ingest.services import Outcome, ingest
from dashboard.ingest.wire import json_body
from dashboard.ingest.wire.bodies import ParsedBody
from dashboard.timeline.erase_flag import erasing
from dashboard.timeline.services import HISTORY
from dashboard.turns.comments.models import Comment
from dashboard.turns.models import Attempt, Record, Turn
from dashboard.turns.models import Outcome as Judged

FOLDER = Path(__file__).parents[3] / os.environ.get("WHYSTOP_OTLP", "../shared/otlp")
#: Columns that tell when something was stored, or how it is stored.
_OTHERWISE = {"ingested_at", "cohort", "node_id", "shared_id", "run_sums"}


def names() -> list[str]:
    """Of all exports, in order; log events belong to the export of their name."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if not path.name.endswith(".logs.json"))


def export(name: str) -> ParsedBody:
    """One export, with its log events."""
    taken = json_body.spans_of((FOLDER / f"{name}.json").read_bytes())
    logs = FOLDER / f"{name}.logs.json"
    if logs.exists():
        taken.logs = json_body.logs_of(logs.read_bytes()).logs
    return taken


def send(*parts: Any, sender: UUID = NO_SENDER) -> Outcome:
    """Spans and log events as one request."""
    return ingest(project_id=project_default().pk, taken=taken_of(parts), by=None, sender=sender)


def taken_of(parts: Iterable[Any]) -> ParsedBody:
    taken = ParsedBody()
    for part in parts:
        (taken.spans if hasattr(part, "parent") else taken.logs).append(part)
    return taken


def pieces_of(names: Iterable[str]) -> list[Any]:
    """All spans and log events of these exports."""
    exports = [export(name) for name in names]
    return [part for taken in exports for part in (*taken.spans, *taken.logs)]


def stored() -> dict[str, list[dict[str, Any]]]:
    """Every row of every turn, but for when it was stored."""
    tables = (Turn, Record, Attempt, Judged, Ingested, Comment)
    return {model.__name__: _rows(model) for model in tables}


def _rows(model: Any) -> list[dict[str, Any]]:
    rows = [{name: told for name, told in row.items() if name not in _OTHERWISE} for row in model.objects.values()]
    return sorted(rows, key=repr)


def emptied() -> None:
    """No turn and no span is there any more."""
    with transaction.atomic(), erasing():
        for model in (*HISTORY, Turn, Piece):
            model.objects.all().delete()
