import pytest

from agentcore.policy import Limits, Policy
from agentcore.replay import fold
from agentcore.snapshot import Snapshot
from dashboard.turns.transcript import Transcript, transcript_of
from dashboard.turns.transcript_window import AFTER, BEFORE, LONG, TranscriptWindow, whole, window_of
from tests.dashboard.turns.histories import answered, called, cut_twice, recorded, returned, started, with_a_tool

POLICY = Policy(limits=Limits(max_continuations=999, max_total_completion_tokens=10**9, max_total_output_chars=10**9))


def long_one(pieces: int = 60, size: int = 3_000) -> Transcript:
    """Cut again and again; one piece differs from the next."""
    events = [answered(1.0 + n, f"{n:04}." * (size // 5), "max_tokens") for n in range(pieces)]
    recording = recorded(
        started(), *events, called(90.0, "a"), returned(91.0, "a", "42"), answered(92.0, "Done."), policy=POLICY
    )
    return transcript_of(Snapshot(), fold(recording))


LONG_ONE = long_one()


def shown(window: TranscriptWindow) -> list[int]:
    return [piece.since for part in window.parts for block in part.blocks for piece in block.pieces]


@pytest.mark.parametrize("recording", [cut_twice(), with_a_tool()])
def test_a_short_transcript_is_complete_at_every_step(recording):
    transcript = transcript_of(Snapshot(), fold(recording))
    assert window_of(transcript, 1) == window_of(transcript, 99) == whole(transcript)
    assert not whole(transcript).cut


def test_blocks_contain_the_whole_answer_in_order():
    for passage in LONG_ONE.passages:
        assert [piece for block in passage.blocks for piece in block.pieces] == passage.pieces


@pytest.mark.parametrize("now", [1, 5, 50, 100, 150, 999])
def test_a_window_surrounds_its_step_and_says_what_it_omits(now: int):
    window = window_of(LONG_ONE, now)
    everything = shown(whole(LONG_ONE))
    seen = shown(window)
    past = [since for since in everything if since <= now] or everything[:1]
    assert past[-1] in seen
    assert seen == [since for since in everything if seen[0] <= since <= seen[-1]]
    size = sum(block.length for part in window.parts for block in part.blocks)
    assert size <= BEFORE + AFTER + 10_000 < LONG
    assert (window.before == 0) == (everything[0] in seen)


def test_tools_are_shown_where_their_position_is_in_the_window():
    calls = [call.name for part in window_of(LONG_ONE, 999).parts for call in part.calls]
    assert calls == ["calculator"]
    assert [part.calls for part in window_of(LONG_ONE, 1).parts] == [()]
