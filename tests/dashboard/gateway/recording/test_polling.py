"""What nobody tells of is looked at, for so long."""

from dashboard.gateway.recording.polling import poll_until


async def test_what_holds_already_is_asked_once():
    asked: list[int] = []
    assert await poll_until(lambda: not asked.append(1), seconds=60)
    assert asked == [1]


async def test_what_comes_to_hold_ends_the_waiting():
    answers = iter([False, False, True])
    assert await poll_until(lambda: next(answers), seconds=60)
    assert next(answers, "asked no more") == "asked no more"


async def test_what_never_holds_is_given_up():
    assert not await poll_until(lambda: False, seconds=0.05)
