"""What a client is told whose base URL is wrong, or whose API has no door here."""

import pytest

from dashboard.gateway.wire.misplaced_paths import advice_for

V1, BARE, CHAT = "address followed by /v1", "address without a path", "OpenAI client"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/chat/completions", V1), ("/v1/v1/chat/completions", V1), ("/v1beta/openai/chat/completions", V1),
        ("/responses", V1), ("/openai/deployments/gpt/chat/completions", "Azure"), ("/messages", BARE),
        ("/v1/v1/messages", BARE), ("/anthropic/v1/messages", BARE), ("/anthropic/messages/", BARE),
        ("/api/chat", "Ollama"), ("/api/generate", CHAT), ("/v2/chat", "Cohere"), ("/v1/chat", "Cohere"),
        ("/model/a.b-v1:0/converse-stream", "Bedrock"), ("/v1/fim/completions", "Mistral"),
        ("/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "Gemini API"),
        ("/v1/metrics", "/v1/traces"),
    ],
)  # fmt: skip
def test_a_path_of_another_place_names_the_right_one(path: str, words: str) -> None:
    assert words in advice_for(path)


@pytest.mark.parametrize("path", ["/", "/turns/", "/api/v1/turns", "/gateway/keys", "/v1/uploads", "/runs/1/messages"])
def test_nothing_is_said_of_other_paths(path: str) -> None:
    assert advice_for(path) == ""
