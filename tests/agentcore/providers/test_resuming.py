"""A cut answer that its provider resumes by a token: from Gemini's bytes through the machine and back to its wire."""

import json

from agentcore import AttemptKind, ChatRequest, serial
from agentcore.providers import get_provider
from tests.agentcore.playbook import Playbook, finish, responded, started

GEMINI = get_provider("gemini")
SETUP = {"provider": "gemini", "model": "gemini-3", "system_prompt": "Be kind.", "max_tokens": 8}


def answered(text: str, reason: str, **candidate: str):
    content = {"role": "model", "parts": [{"text": text}]}
    decoder = GEMINI.stream_decoder(max_tokens=8)
    chunk = {"candidates": [{"content": content, "finishReason": reason, **candidate}]}
    decoder.feed(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n")
    return responded(decoder.close())


def body_of(request: ChatRequest) -> dict:
    return GEMINI.encode_request(request)


def test_the_token_of_a_truncated_answer_is_sent_back_with_the_unchanged_request():
    asked = Playbook(**SETUP) >> started("Tell me.")
    first = body_of(asked.command.request)
    cut = asked >> answered("Once upon ", "CONTINUATION", continuationToken="tok-1")
    assert cut.command.kind is AttemptKind.CONTINUATION
    assert body_of(cut.command.request) == {**first, "continuationToken": "tok-1"}
    again = cut >> answered("a time ", "CONTINUATION", continuationToken="tok-2")
    assert body_of(again.command.request)["continuationToken"] == "tok-2"
    assert again >> answered("there was.", "STOP") << finish("Once upon a time there was.", notice="")


def test_a_truncated_answer_without_a_token_is_continued_by_a_hint():
    cut = Playbook(**SETUP) >> started("Tell me.") >> answered("Once upon ", "CONTINUATION")
    sent = body_of(cut.command.request)
    assert "continuationToken" not in sent
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]


def test_a_token_is_stored_with_its_command_and_omitted_without_one():
    asked = Playbook(**SETUP) >> started("Tell me.")
    assert "resume_token" not in json.dumps(serial.command_to_json(asked.command))
    cut = asked >> answered("Once upon ", "CONTINUATION", continuationToken="tok-1")
    assert serial.command_to_json(cut.command)["request"]["resume_token"] == "tok-1"
    assert serial.snapshot_from_json(serial.to_json(cut.snapshot)) == cut.snapshot
