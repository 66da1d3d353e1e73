import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from dashboard.live.services import turn_start
from dashboard.tools.models import TurnDocument
from dashboard.turns.models import Turn
from dashboard.turns.turn_documents import MAX_DOCUMENT_CHARS, MAX_DOCUMENTS

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([{"name": "a", "text": "x"}] * 2, "the same name"),
        ([{"name": " ", "text": "x"}], "needs a name"),
        ([{"name": "n" * 201, "text": "x"}], "needs a name"),
        ([{"name": str(n), "text": ""} for n in range(MAX_DOCUMENTS + 1)], "There are 51 documents"),
        ([{"name": "a", "text": "x" * (MAX_DOCUMENT_CHARS + 1)}], "1,000,001 characters together"),
    ],
)
def test_unacceptable_documents_are_refused_with_an_explanation(agent_of, documents, words):
    with pytest.raises(ValidationError, match=words) as refused:
        turn_start(agent=agent_of("sim-essay"), input_text="Hello", documents=documents)
    assert "documents" in refused.value.message_dict
    assert not Turn.objects.exists()


@pytest.mark.parametrize("by_sql", [True, False])
def test_documents_are_deleted_with_their_turn_by_any_deletion(agent_of, by_sql):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Hello", documents=[{"name": "a", "text": "A"}])
    assert TurnDocument.objects.count() == 1
    if by_sql:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM turns_turn WHERE id = %s", [turn.id])
    else:
        turn.delete()
    assert not TurnDocument.objects.exists()
