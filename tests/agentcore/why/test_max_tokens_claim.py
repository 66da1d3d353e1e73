"""The number of a verdict in its tree: how certain it is, and the calls it rests on."""

from functools import partial

import pytest

from agentcore.why import Kind, derive, lines_of
from tests.agentcore.playbook import Playbook, ended, truncated, worded
from tests.agentcore.playbook import play as played

CUT = (truncated(worded("a", 20), tokens=20), truncated(worded("b", 20), tokens=20), ended(worded("c", 16), tokens=16))


play = partial(played, max_tokens=20)


def lines(book: Playbook) -> list[str]:
    found = derive(book.stored())
    assert found is not None
    return list(lines_of(found.tree))


def test_the_number_appears_in_the_tree_with_everything_it_depends_on():
    told = lines(play(*CUT, extra={"prefill": True}))
    assert told[-8:] == [
        "└─ claim: certain: one call with Max tokens per call (max_tokens) ≥ 61 would have been enough",
        "   ├─ from: call 1 used 20 of 20 tokens, and was cut there",
        "   ├─ from: call 2 used 20 of 20 tokens, and was cut there",
        "   ├─ from: call 3 used 16 of 20 tokens, and ended by itself",
        "   ├─ from: 56 completion tokens in all, as reported",
        "   ├─ from: 5 tokens for the end of the answer, which some servers count and do not report",
        "   ├─ from: 2 continuations from the very words before, by prefill",
        "   └─ from: no call failed, and there was one iteration",
    ]


def test_the_api_gives_the_same_as_data_with_the_record_and_transition_of_each_call():
    found = derive(play(*CUT, extra={"prefill": True}).recording)
    assert found is not None
    claim = found.tree.because[-1]
    assert (claim.kind, claim.name) == (Kind.CLAIM, "max_tokens")
    assert (claim.fact("certainty"), claim.fact("max_tokens"), claim.fact("ceiling")) == ("certain", 61, None)
    calls = [node for node in claim.because if node.name == "call"]
    assert [(node.fact("attempt"), node.fact("seq"), node.fact("used")) for node in calls] == [
        (1, 2, 20),
        (2, 3, 20),
        (3, 4, 16),
    ]
    assert [node.fact("number") for node in calls] == [2, 5, 8]
    assert found.clause is None, "a claim is no clause of the policy"


def test_a_continuation_by_a_provider_token_is_reported_as_one():
    cut = truncated(worded("a", 20), tokens=20, resume_token="on")
    assert "1 continuation from the very words before, by the provider's own token" in "\n".join(
        lines(play(cut, ended("d", tokens=4)))
    )


@pytest.mark.parametrize(
    "book",
    [play(*CUT), play(ended("done")), play(*CUT[:2], extra={"prefill": True}, max_continuations=1)],
    ids=["after a hint", "in one call", "partial"],
)
def test_the_tree_claims_no_number_where_the_verdict_names_none(book: Playbook):
    assert not [line for line in lines(book) if "claim" in line]
