"""Documents that a turn is started with, for its tools to look into."""

from collections.abc import Mapping, Sequence

from django.core.exceptions import ValidationError

from dashboard.tools import validation
from dashboard.tools.models import TurnDocument
from dashboard.turns.models import Turn

MAX_DOCUMENTS = 50
MAX_DOCUMENT_CHARS = 1_000_000  #: of all documents of a turn together


def documents_clean(documents: Sequence[Mapping[str, str]]) -> list[TurnDocument]:
    """Documents `{name, text}` that a turn may have, to be stored with it."""
    faults = validation.documents_faults(
        [document["name"] for document in documents],
        [len(document["text"]) for document in documents],
        most=MAX_DOCUMENTS,
        most_chars=MAX_DOCUMENT_CHARS,
    )
    if faults:
        raise ValidationError({"documents": faults})
    return [TurnDocument(n=n, name=given["name"], text=given["text"]) for n, given in enumerate(documents)]


def documents_add(*, turn: Turn, documents: Sequence[TurnDocument]) -> None:
    """Give a turn that has just been saved its documents."""
    for document in documents:
        document.turn = turn
    TurnDocument.objects.bulk_create(documents)


def documents_inherit(*, turn: Turn) -> None:
    """A fork has its parent's documents."""
    if turn.parent_id is None:
        return
    theirs = TurnDocument.objects.filter(turn_id=turn.parent_id)
    documents_add(turn=turn, documents=[TurnDocument(n=d.n, name=d.name, text=d.text) for d in theirs])
