"""Reasons are shown in other words than those they are stored with, wherever those read badly."""

import pytest

from agentcore.reason_text import in_plain_words
from agentcore.replay import verify
from agentcore.why.derivation import derive
from tests.agentcore.playbook import Playbook, ended, started, truncated


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("no envelope is being judged", "no structured answer to check at this step"),
        ("no continuation is being judged", "no truncated answer to continue at this step"),
        ("the provider said no stop reason: unknown", "the provider gave no stop reason: unknown"),
        ("the provider said “stop”: end_turn", "the provider said “stop”: end_turn"),
        ("This answer is incomplete: 0 of 0 continuations used.", "This answer is incomplete: max_continuations is 0."),
        ("truncated tool call; 0 of 0 repairs used", "truncated tool call; max_tool_repair_attempts is 0"),
        ("it was cut; 0 of 0 envelope retries used", "it was cut; schema_rounds is 0"),
        ("1 of 20 iterations", "1 of 20 steps"),
        ("iteration 2 of 20", "step 2 of 20"),
        ("1011 tokens in and out; no limit", "1,011 tokens in and out; no limit"),
        ("90000 of 80000 tokens", "90,000 of 80,000 tokens"),
        ("the provider said “at most 65536 tokens”", "the provider said “at most 65536 tokens”"),
        ("10 of 0 continuations used", "10 of 0 continuations used"),
        ("2 cut answers running added nothing new", "2 truncated answers in a row added nothing new"),
        (
            "cut off by max_tokens, 60 of 60 tokens used; a call that is only watched is not continued",
            "cut off by max_tokens, 60 of 60 tokens used; an observed call is not continued",
        ),
        (
            "This turn was interrupted and cannot go on: the process is gone. What had been said is kept.",
            "This turn was interrupted and cannot continue: the process is gone. The partial answer is kept.",
        ),
    ],
)
def test_a_stored_reason_is_shown_in_plain_words(stored, shown):
    assert in_plain_words(stored) == shown
    assert in_plain_words(shown) == shown


def test_what_is_stored_keeps_its_words_and_verifies():
    book = Playbook(max_continuations=0) >> started() >> truncated("a")
    assert "0 of 0 continuations used" in book.end.notice
    assert verify(book.recording).verified
    derivation = derive(book.recording)
    assert derivation is not None
    said = [node.words for node in derivation.tree.walk()]
    assert "TruncationCriterion forbade: max_continuations is 0" in said


def test_no_word_of_another_sentence_is_touched():
    book = Playbook() >> started() >> ended("0 of 0 continuations used")
    assert book.snapshot.output_text == "0 of 0 continuations used"
