from agentcore.events import WokeUp
from agentcore.replay import fold
from agentcore.values import replace
from tests.agentcore.playbook import Playbook, started, truncated


def book() -> Playbook:
    return Playbook() >> started() >> truncated("a")


def test_each_record_lies_between_two_snapshots_and_transitions_are_numbered_consecutively():
    spans = fold(book().recording)
    assert [span.after for span in spans] == [step.snapshot for step in book().steps]
    assert spans[0].after == spans[1].before
    assert [(span.first, span.last) for span in spans] == [(1, 1), (2, 4)]


def test_records_that_this_core_cannot_judge_leave_the_snapshots_unchanged():
    recording = book().recording
    odd = replace(recording.records[-1], seq=3, event=WokeUp(9.0))
    spans = fold(replace(recording, records=(*recording.records, odd)))
    assert [span.known for span in spans] == [True, True, False]
    assert spans[2].before == spans[2].after
