"""Frames are cut where they end, and all sockets together take a bounded part of time and memory."""

from collections.abc import Sequence

import pytest

from dashboard.runtime.request_guard.frame_budget import ByteBudget, FrameBudget, Frames

MASK = b"\0\0\0\0"
WHOLE = [
    b"\x89\x80" + MASK,
    b"\x81\x83" + MASK + b"abc",
    b"\x81\xfe\x00\x7e" + MASK + b"a" * 126,
    b"\x82\xff" + (70_000).to_bytes(8) + MASK + b"b" * 70_000,
    b"\x88\x00",
]


@pytest.mark.parametrize("size", [1, 2, 7, 1_000, 100_000])
def test_frames_are_split_correctly_in_any_chunking(size: int):
    sent, frames, found = b"".join(WHOLE), Frames(), []
    for at in range(0, len(sent), size):
        frames.add(sent[at : at + size])
        while frame := frames.next(100_000):
            found.append(frame)
    assert (found, len(frames)) == (WHOLE, 0)


def test_the_parser_of_a_frame_that_claims_too_much_gets_what_has_arrived():
    frames = Frames()
    frames.add(b"\x81\xff" + (2**62).to_bytes(8))
    assert (frames.next(100_000), len(frames)) == (b"\x81\xff" + (2**62).to_bytes(8), 0)


def test_sockets_pause_longer_the_more_of_them_pause():
    budget = FrameBudget(share=0.1, most=100)
    assert [budget.begin_rest(0.5) for _ in range(3)] == [5.0, 10.0, 15.0]
    budget.end_rest()
    assert budget.begin_rest(0.5) == 15.0


def test_sockets_pause_sooner_the_more_of_them_pause():
    budget = FrameBudget(share=0.1, most=100)
    alone = budget.burst
    budget.begin_rest(alone)
    assert budget.burst == alone / 2


class Socket:
    dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_the_socket_holding_most_is_closed_where_the_total_is_exceeded():
    budget, sockets = FrameBudget(share=0.1, most=100), [Socket() for _ in range(4)]
    for socket, size in zip(sockets, (30, 50, 20, 1), strict=True):
        budget.hold(socket, size)
    assert [socket.dropped for socket in sockets] == [False, True, False, False]
    budget.hold(sockets[0], 0)
    budget.hold(sockets[2], 99)
    assert not sockets[2].dropped


#: What is held, step by step, and by whom. Where it becomes too much, the deaf one is ended and not the reader.
STEPS = {
    "what the buffers of the system take is no progress": (
        0.75, (("deaf", 48), ("reader", 48), ("deaf", 44), ("another", 20)),
    ),
    "who has read a quarter goes on": (0.75, (("reader", 48), ("deaf", 36), ("reader", 36), ("another", 36))),
    "an answer that has just begun is larger than one that nobody reads": (
        0.5, (("deaf", 40), ("deaf", 28), ("another", 40), ("another", 28), ("reader", 45)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("near", "steps"), STEPS.values(), ids=STEPS)
def test_where_the_total_is_exceeded_the_longest_unread_socket_is_closed(near: float, steps: Sequence[tuple[str, int]]):
    ended = list[str]()
    budget = ByteBudget[str](100, ended.append, near=near)
    for holder, size in steps:
        budget.hold(holder, size)
    assert ended == ["deaf"]
