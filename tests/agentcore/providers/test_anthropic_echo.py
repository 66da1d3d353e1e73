"""What of an answer of the Messages API goes back, and in which form."""

from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import (
    message_stream,
    piece,
    read,
    said,
    start,
    stop,
    thought,
)


def test_a_paused_stream_is_reassembled():
    streamed = [start(1, type="server_tool_use", id="srvtoolu_1", name="web_search", input={})]
    streamed += [piece(1, type="input_json_delta", partial_json=text) for text in ("", '{"query": ', '"x"}')]
    cited = [start(2, type="text", text="", citations=[]), piece(2, type="citations_delta", citation={"url": "u"})]
    cited += [piece(2, type="text_delta", text="So it is.")]
    response = read("anthropic", message_stream(thought(0, "", "sig"), streamed, cited, reason="pause_turn"))
    assert response.stop_reason is Reason.PAUSED
    assert response.echo == [
        {"type": "thinking", "thinking": "", "signature": "sig"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "text", "text": "So it is.", "citations": [{"url": "u"}]},
    ]


def test_a_compaction_is_a_pause_and_is_sent_back():
    block = [start(0, type="compaction", content=None), piece(0, type="compaction_delta", content="Summary"), stop(0)]
    response = read("anthropic", message_stream(block, reason="compaction"))
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.PAUSED, "compaction")
    assert (response.text, response.echo) == ("", [{"type": "compaction", "content": "Summary"}])
    assert response.diagnostics == ()


def test_a_truncated_thought_is_left_out():
    stream = message_stream(thought(0, "One.", "sig"), said(1, "Two."), thought(2, "Thr"), reason="max_tokens")
    response = read("anthropic", stream)
    assert response.reasoning_content == "One.Thr"
    assert response.echo == [
        {"type": "thinking", "thinking": "One.", "signature": "sig"},
        {"type": "text", "text": "Two."},
    ]
    alone = read("anthropic", message_stream(thought(0, "Thr"), reason="max_tokens"))
    assert (alone.echo, alone.diagnostics) == (None, ("empty_output",))
