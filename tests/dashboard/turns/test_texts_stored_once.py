"""A text that stands in the row of its turn, or of its attempt, is read from there."""

import asyncio
from unittest.mock import patch

import pytest
from django.db import connection

from dashboard.gateway.recording.recorder import Recorder
from dashboard.turns.history import raw_response_of
from dashboard.turns.models import Attempt, AttemptChunk, Piece
from tests.dashboard.gateway.told_turns import Story, cut, ended, tell

pytestmark = pytest.mark.django_db(transaction=True)


def recorded(story: Story, *, one_by_one: bool = False) -> None:
    new = story.new_turn()

    async def told() -> None:
        recorder = Recorder()
        await tell(recorder, story, new, one_by_one=one_by_one)
        await recorder.close()

    asyncio.run(told())


def in_column(table: str) -> list[str | None]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT text FROM {table} ORDER BY 1 NULLS LAST")
        return [text for (text,) in cursor.fetchall()]


@pytest.mark.parametrize("one_by_one", [False, True])
def test_the_final_answer_is_stored_only_in_the_turns_row(one_by_one: bool):
    recorded(Story([ended("whole")]), one_by_one=one_by_one)
    assert in_column("turns_attempt") == [None]
    assert Attempt.objects.get().text == "whole"
    assert Attempt.objects.values_list("text", flat=True).get() == "whole"
    assert Attempt.objects.defer("text").get().text == "whole"
    assert Piece.objects.get().text == "whole"


def test_a_partial_answer_is_stored_in_its_attempt():
    recorded(Story([cut("The quick brown fox"), ended(" jumps.")]))
    assert in_column("turns_attempt") == [" jumps.", "The quick brown fox"]
    assert in_column("turns_piece") == [None, None]
    pieces = Piece.objects.order_by("attempt").values_list("text", flat=True)
    assert list(pieces) == ["The quick brown fox", " jumps."]


@pytest.mark.parametrize("text", ["", "whole", "other"])
def test_a_non_streamed_answer_is_stored_in_its_attempt_with_the_decoded_text(text: str):
    story = Story([ended("whole")])
    steps = [(piece and (*piece[:2], text), entry) for piece, entry in story.steps()]
    with patch.object(Story, "steps", lambda _: steps):
        recorded(story)
    assert not AttemptChunk.objects.exists()
    assert Piece.objects.get().text == text
    assert raw_response_of(Attempt.objects.get()) == b"whole"


def test_an_analyst_reads_the_text_of_each_call():
    from dashboard.turns.sql_views.view_installer import install

    install()
    recorded(Story([ended("whole")]))
    with connection.cursor() as cursor:
        cursor.execute("SELECT text, characters FROM whystop.attempts")
        assert cursor.fetchall() == [("whole", 5)]
