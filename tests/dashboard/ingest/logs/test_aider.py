"""Aider's history of a chat, in the form that its 0.86 writes."""

from pathlib import Path

import pytest

from dashboard.ingest.local_files.files import transcripts_of
from dashboard.ingest.logs.transcripts import aider
from dashboard.ingest.logs.values import Fault
from dashboard.ingest.models import Ingested
from dashboard.turns.models import Attempt, Turn
from tests.agentcore.time_growth import grows_linearly
from tests.dashboard.ingest.logs.test_session_databases import Run, run
from tests.dashboard.ingest.logs.writing import found_in
from tests.together import together

__all__ = ["run"]  # a fixture

BEGIN = "\n# aider chat started at 2026-09-28 07:00:00\n\n"
ABOUT = (
    "> Aider v0.86.2  \n> Main model: gpt-4o with diff edit format  \n> Weak model: gpt-4o-mini  \n> Git repo: none  \n"
)
USED = "> Tokens: 2.2k sent, 345 received.  \n"
OK = (
    "\n#### Add a test  \n#### for the parser  \n\n# A plan\n\n> quoted by the model\n\nDone.\n\n"
    f"{USED}> Applied edit to a.py  \n"
)
LIMIT = (
    "> Model gpt-4o has hit a token limit!  \n> Token counts below are approximate.  \n"
    "> Input tokens: ~1,200 of 128,000  \n> Output tokens: ~4,096 of 4,096 -- possibly exceeded output limit!  \n"
)
CUT = f"\n#### Write it all  \n\nOnce upon\n\n> Tokens: 10 sent, 4.1k received.  \n{LIMIT}"
HISTORY = BEGIN + ABOUT + OK + CUT


def history(folder: Path, text: str) -> Path:
    path = folder / ".aider.chat.history.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def notes_of(turn: Turn) -> dict[str, str]:
    return {note["code"]: note["words"] for note in Ingested.objects.get(turn_id=turn.id).notes}


def test_a_chat_is_a_run_of_turns_that_mark_token_limits(run: Run, tmp_path: Path) -> None:
    path = history(tmp_path, HISTORY)
    assert run(tmp_path) == ("1 file: 2 turns imported, 0 here already, 0 refused.", "")
    first, second = Turn.objects.order_by("created_at")
    assert (first.agent_name, first.model, first.input_text) == ("aider", "gpt-4o", "Add a test\nfor the parser")
    assert first.output_text == "# A plan\n\n> quoted by the model\n\nDone."
    assert (first.model_stop_reason, second.model_stop_reason) == ("unknown", "max_tokens")
    assert second.output_text == "Once upon"
    assert {"reason_unknown", "usage_unknown", "time_unknown"} <= set(notes_of(first))
    assert "Tokens: 2.2k sent, 345 received." in notes_of(first)["usage_rounded"]
    assert "reason_derived" in notes_of(second)
    assert run(path) == ("1 file: 0 turns imported, 2 here already, 0 refused.", "")


def test_a_token_limit_without_an_answer_is_a_failed_call(run: Run, tmp_path: Path) -> None:
    history(tmp_path, f"{BEGIN}{ABOUT}\n#### Write it all  \n{LIMIT}")
    run(tmp_path)
    (attempt,) = Attempt.objects.all()
    assert "has hit a token limit" in attempt.error["message"]
    assert Turn.objects.get().input_text == "Write it all"


def test_each_failed_call_has_its_error_message(run: Run, tmp_path: Path) -> None:
    error = "> litellm.RateLimitError: RateLimitError: Slow down  \n> Retrying in 0.2 seconds...  \n"
    history(tmp_path, f"{BEGIN}{ABOUT}\n#### Go  \n{error}{error}\nDone.\n\n> Tokens: 10 sent, 1 received.  \n")
    run(tmp_path)
    turn = Turn.objects.get()
    assert (turn.input_text, turn.output_text, turn.attempts) == ("Go", "Done.", 3)
    errors = [one.error and one.error["code"] for one in Attempt.objects.order_by("index")]
    assert errors == ["RateLimitError", "RateLimitError", None]


def test_an_answer_stopped_by_the_user_is_interrupted(run: Run, tmp_path: Path) -> None:
    history(tmp_path, f"{BEGIN}{ABOUT}\n#### Go  \n> ^C again to exit  \n\nOnce\n\n#### Next  \n\nTwo.\n\n")
    run(tmp_path)
    first, second = Turn.objects.order_by("created_at")
    assert "interrupted" in notes_of(first)
    assert "interrupted" not in notes_of(second)


def test_agent_commands_are_not_messages_to_the_model(run: Run, tmp_path: Path) -> None:
    history(tmp_path, f"{BEGIN}{ABOUT}\n#### /add a.py  \n> Added a.py to the chat  \n\n#### /ask why?  \n\nSo.\n\n")
    run(tmp_path)
    assert Turn.objects.get().input_text == "/ask why?"


def test_a_request_made_by_the_agent_itself_is_a_turn_with_an_unknown_question(run: Run, tmp_path: Path) -> None:
    used = "> Tokens: 10 sent, 1 received.  \n"
    history(
        tmp_path, f"{BEGIN}{ABOUT}\n#### Go  \n\nOne\n\n{used}> Attempt to fix lint errors? (Y)es y  \n\nTwo\n\n{used}"
    )
    run(tmp_path)
    assert list(Turn.objects.order_by("created_at").values_list("input_text", "output_text")) == [
        ("Go", "One"), ("", "Two"),
    ]  # fmt: skip


def test_two_chats_with_the_same_beginning_are_two_runs(run: Run, tmp_path: Path) -> None:
    history(tmp_path, HISTORY + HISTORY)
    assert run(tmp_path)[0] == "1 file: 4 turns imported, 0 here already, 0 refused."
    assert Turn.objects.exclude(run_id=None).values("run_id").distinct().count() == 2


def test_histories_are_found_in_the_projects_of_the_home_folder(tmp_path: Path) -> None:
    found = [history(tmp_path / folder, HISTORY) for folder in ("", "one", "code/two")]
    assert transcripts_of(tmp_path) == found


@together
@pytest.mark.parametrize("cut", range(0, len(HISTORY), 7))
def test_a_history_that_ends_anywhere_is_read_completely(cut: int) -> None:
    found_in(HISTORY[:cut].encode() + b"\xff\n")


def test_the_memory_for_a_history_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aider, "MOST_LINE", 100)
    history = aider.History()
    for number in range(1, 1_000):
        found = [*history.take("#### aaaaaaaaaa  ", number, 0)]
        assert found == ([] if number <= 10 else [Fault(number, aider.TOO_LONG)])
    [*history.take("Yes.", 2_000, 0)]
    for number in range(2_001, 3_000):
        [*history.take("> Tokens: 1 sent, 1 received.  ", number, 0)]
    held = sum(map(len, (*history._asked, *history._said, *history._printed)))
    assert held < 1_000
    assert [*history.take("#### Next  ", 4_000, 0)] == [], "and its next message is read again"


def test_a_long_line_of_the_agent_is_matched_quickly() -> None:
    """Each end that may have been that of a number was tried with each end of the line."""
    assert grows_linearly(lambda size: aider._USAGE.match("Tokens: 1 sent, " + " sent, 1" * size), 10_000)
