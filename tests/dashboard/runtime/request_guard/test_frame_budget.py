"""Frames are cut where they end, and all sockets together take a bounded part of time and memory."""

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
def test_frames_are_cut_where_they_end_however_they_come(size: int):
    sent, frames, found = b"".join(WHOLE), Frames(), []
    for at in range(0, len(sent), size):
        frames.add(sent[at : at + size])
        while frame := frames.next(100_000):
            found.append(frame)
    assert (found, len(frames)) == (WHOLE, 0)


def test_of_a_frame_that_claims_too_much_its_parser_is_given_what_is_here():
    frames = Frames()
    frames.add(b"\x81\xff" + (2**62).to_bytes(8))
    assert (frames.next(100_000), len(frames)) == (b"\x81\xff" + (2**62).to_bytes(8), 0)


def test_sockets_rest_longer_the_more_of_them_rest():
    budget = FrameBudget(share=0.1, most=100)
    assert [budget.begin_rest(0.5) for _ in range(3)] == [5.0, 10.0, 15.0]
    budget.end_rest()
    assert budget.begin_rest(0.5) == 15.0


def test_sockets_rest_the_sooner_the_more_of_them_rest():
    budget = FrameBudget(share=0.1, most=100)
    alone = budget.burst
    budget.begin_rest(alone)
    assert budget.burst == alone / 2


class Socket:
    dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_whoever_holds_most_is_closed_where_all_together_hold_too_much():
    budget, sockets = FrameBudget(share=0.1, most=100), [Socket() for _ in range(4)]
    for socket, size in zip(sockets, (30, 50, 20, 1), strict=True):
        budget.hold(socket, size)
    assert [socket.dropped for socket in sockets] == [False, True, False, False]
    budget.hold(sockets[0], 0)
    budget.hold(sockets[2], 99)
    assert not sockets[2].dropped


def test_who_only_fills_the_buffers_of_the_system_has_not_read_and_is_ended_before_who_reads():
    ended = list[str]()
    budget = ByteBudget[str](100, ended.append)
    budget.hold("deaf", 48)
    budget.hold("reader", 48)
    budget.hold("deaf", 44)
    budget.hold("another", 20)
    assert ended == ["deaf"]


def test_an_answer_that_has_just_begun_is_larger_than_one_that_nobody_reads_and_goes_on():
    ended = list[str]()
    budget = ByteBudget[str](45, ended.append, near=0.5)
    for deaf in ("one", "two"):
        budget.hold(deaf, 20)
        budget.hold(deaf, 14)
    budget.hold("reader", 20)
    assert ended == ["one"]


def test_who_has_read_a_quarter_is_ended_after_who_has_not():
    ended = list[str]()
    budget = ByteBudget[str](100, ended.append)
    budget.hold("reader", 48)
    budget.hold("deaf", 36)
    budget.hold("reader", 36)
    budget.hold("another", 36)
    assert ended == ["deaf"]
