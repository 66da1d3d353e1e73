from agentcore.machine.snapshot import Snapshot
from dashboard.turns.verdict_lead import verdict_lead
from tests.agentcore.playbook import Playbook, cut_call, ended, started, truncated


def after(*events: object, **given: object) -> Snapshot:
    book = Playbook(**given) >> started()
    for event in events:
        book = book >> event
    return book.snapshot


def test_the_first_words_stand_apart_and_so_does_what_would_have_helped():
    parted = verdict_lead(after(truncated("a", tokens=60), max_continuations=0), "", "retry_limit")
    assert parted.first == "Cut off"
    assert parted.rest.startswith(" by max_tokens once, then stopped at max_continuations")
    assert parted.helps.startswith("With 1 continuation it would have continued.")


def test_where_the_words_say_nothing_of_the_reason_its_label_stands_before():
    told = verdict_lead(after(cut_call(), cut_call()), "", "tool_repair_failed")
    assert told.first == "Tool call not repaired:"
    assert told.whole.startswith("Tool call not repaired: A tool call was truncated")


def test_a_turn_that_has_not_ended_by_its_history_has_its_stored_sentence():
    told = verdict_lead(after(), "the worker was lost.", "interrupted")
    assert told.whole == "Interrupted: the worker was lost."
    assert verdict_lead(after(ended("done")), "older words", "completed").whole == "Completed in 1 call."
