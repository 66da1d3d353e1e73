from agentcore.replay import fold
from agentcore.snapshot import Snapshot
from dashboard.turns.transcript import transcript_of
from tests.dashboard.turns.histories import called, cut_twice, recorded, returned, started, with_a_tool


def test_each_segment_has_its_attempt_its_repeat_and_its_reason():
    (passage,) = transcript_of(Snapshot(), fold(cut_twice())).passages
    assert [(p.attempt, p.dropped, p.text, p.seam) for p in passage.pieces] == [
        (1, "", "The quick brown fox jumps", "cut at 60 tokens"),
        (2, "brown fox jumps", " over the lazy dog and", "cut at 60 tokens"),
        (3, "", " sleeps.", ""),
    ]


def test_each_segment_names_its_transition():
    spans = fold(cut_twice())
    (passage,) = transcript_of(Snapshot(), spans).passages
    assert [p.since for p in passage.pieces] == [span.first for span in spans[1:]]


def test_the_joined_segments_are_the_answer():
    recording = cut_twice()
    (passage,) = transcript_of(Snapshot(), fold(recording)).passages
    assert "".join(p.text for p in passage.pieces) == recording.final.output_text


def test_tools_are_shown_in_the_iteration_that_called_them_with_their_results():
    first, second = transcript_of(Snapshot(), fold(with_a_tool())).passages
    (call,) = first.calls
    assert (call.name, call.arguments, call.result) == ("calculator", '{"expression": "6 * 7"}', "42")
    assert call.since < call.returned
    assert [p.text for p in second.pieces] == ["It is 42."]


def test_a_running_call_has_no_result():
    (passage,) = transcript_of(Snapshot(), fold(recorded(started(), called(1.0, "a")))).passages
    assert passage.calls[0].result is None


def test_the_question_is_shown_first():
    recording = recorded(started(), called(1.0, "a"), returned(1.5, "a", "42"))
    assert [m.text for m in transcript_of(Snapshot(), fold(recording)).question] == ["Say it."]
