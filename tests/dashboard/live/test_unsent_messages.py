"""What streams have still to tell is bounded for all of them together; a message that several have counts once."""

import gc
import tracemalloc

from dashboard.api.streaming import pieces
from dashboard.live.turn_events import Message
from dashboard.live.unsent_messages import UnsentMessages
from dashboard.platform.unread_responses import KeptAnswer, kept_of
from dashboard.runtime.request_guard.frame_budget import ByteBudget

SIZE = 4_000_000


class Stream:
    """One stream, as a server counts it."""

    def __init__(self, budget: "ByteBudget[Stream]") -> None:
        self.kept = KeptAnswer(lambda: budget.hold(self, self.kept.size))
        self.untold = UnsentMessages(self.kept)


def given_up(stream: Stream) -> None:
    assert stream.kept.give_up is not None
    stream.kept.give_up()


def message(seq: int) -> Message:
    return Message("record", str(seq % 10) * SIZE, seq)


def test_streams_of_different_large_turns_share_one_limit():
    budget = ByteBudget[Stream](3 * SIZE, given_up)
    tracemalloc.start()
    try:
        streams = [Stream(budget) for _ in range(12)]
        begun = []
        for n, stream in enumerate(streams):
            stream.untold.add([message(n)])
            begun.append(pieces(stream.untold))
            assert next(begun[-1], b"")  # its client has taken one piece
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 4 * SIZE
    finally:
        tracemalloc.stop()
    gone = [stream.untold.gone for stream in streams]
    assert gone == [True] * 9 + [False] * 3
    for n, (rest, slow) in enumerate(zip(begun, gone, strict=True)):
        said = b"".join(rest)
        assert said.endswith(b"\n\n") is not slow
        assert (len(said) < 100) is slow, n


def test_a_removed_stream_leaves_others_alone_and_reads_nothing_more():
    budget = ByteBudget[Stream](SIZE, given_up)
    first, second = Stream(budget), Stream(budget)
    first.untold.add([message(1)])
    second.untold.add([message(2)])
    assert (first.untold.gone, second.untold.gone) == (True, False)
    first.untold.add([message(3)])
    assert (first.kept.size, second.kept.size) == (0, SIZE)


def test_a_message_shared_by_streams_counts_for_its_oldest_holder_and_then_the_next():
    budget = ByteBudget[Stream](2 * SIZE, given_up)
    shared, streams = message(1), [Stream(budget) for _ in range(40)]
    for stream in streams:
        stream.untold.add([shared])
    assert [stream.kept.size for stream in streams] == [SIZE, *[0] * 39]
    assert b"".join(pieces(streams[0].untold)).endswith(b"\n\n")
    assert [stream.kept.size for stream in streams] == [0, SIZE, *[0] * 38]
    for stream in streams:
        with stream.untold:
            pass
    assert [stream.kept.size for stream in streams] == [0] * 40


def test_under_another_server_nothing_is_counted_and_everything_is_sent():
    untold = UnsentMessages(kept_of({}))
    untold.add([message(1)])
    assert len(b"".join(pieces(untold))) > SIZE
