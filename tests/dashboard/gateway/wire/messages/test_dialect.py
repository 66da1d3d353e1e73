"""The door's own row."""

from dashboard.gateway.wire.caller_dialects import BY_DIALECT, BY_PATH, dialect_at
from dashboard.gateway.wire.gemini.dialect import GEMINI
from dashboard.gateway.wire.messages.dialect import MESSAGES, add_prompt


def test_an_agents_prompt_precedes_the_callers():
    ours = {"type": "text", "text": "ours"}
    for system, after in (
        (None, []),
        ("", []),
        ("theirs", [{"type": "text", "text": "theirs"}]),
        ([{"a": 1}], [{"a": 1}]),
    ):
        body = {"system": system}
        add_prompt(body, "ours")
        assert body["system"] == [ours, *after]


def test_urls_below_an_endpoint_answer_in_its_format():
    assert dialect_at("/v1/messages/count_tokens") is dialect_at("/v1/messages") is MESSAGES
    assert dialect_at("/v1/messages_of_others").dialect == dialect_at("/v1/embeddings").dialect == "openai"
    assert {door.dialect: door for door in (*BY_PATH.values(), GEMINI)} == BY_DIALECT
    assert dialect_at("/v1beta/models") is dialect_at("/v1beta/files") is GEMINI
    assert dialect_at("/v1/models/m:generateContent").dialect == GEMINI.dialect
