"""What a client is told whose base URL is wrong, or whose API the gateway does not support."""

import pytest

from dashboard.gateway.lookups import advice_for, misplaced
from tests.together import together

V1, BARE, CHAT = "address followed by /v1", "address without a path", "OpenAI client"
TWICE = "Remove /v1 from the end"


@together
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/chat/completions", V1), ("/v1/v1/chat/completions", TWICE), ("/v1beta/openai/chat/completions", V1),
        ("/responses", V1), ("/openai/deployments/gpt/chat/completions", "Azure"), ("/messages", BARE),
        ("/v1/v1/messages", TWICE), ("/anthropic/v1/messages", BARE), ("/anthropic/messages/", BARE),
        ("/api/chat", "Ollama"), ("/api/generate", CHAT), ("/v2/chat", "Cohere"), ("/v1/chat", "Cohere"),
        ("/model/a.b-v1:0/converse-stream", "Bedrock"), ("/v1/fim/completions", "Mistral"),
        ("/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "Gemini API"),
        ("/v1/metrics", "/v1/traces"), ("/v1/v1/models", TWICE), ("/v1/openai/v1/chat/completions", TWICE),
        ("/v1/api/chat", "Ollama"), ("/api/tags", "Ollama"), ("/api/ps", "Ollama"), ("/v1/v2/chat", "Cohere"),
        ("/v2/embed", "Cohere"), ("/v2/rerank", "POST /v1/rerank"), ("/v1/tokenize", "Cohere"),
    ],
)  # fmt: skip
def test_a_path_of_another_api_names_the_right_one(path: str, words: str) -> None:
    assert words in advice_for(path)


@pytest.mark.parametrize("path", ["/", "/turns/", "/api/v1/turns", "/gateway/keys", "/v1/uploads", "/runs/1/messages"])
def test_other_paths_get_no_hint(path: str) -> None:
    assert advice_for(path) == ""


@pytest.mark.parametrize(
    ("method", "path", "is_told"),
    [
        ("GET", "/api/tags", True), ("DELETE", "/api/delete", True), ("POST", "/api/chat", True),
        ("GET", "/metrics", False), ("GET", "/messages", False), ("GET", "/api/v1/turns", False),
    ],
)  # fmt: skip
def test_paths_that_may_be_pages_get_a_hint_only_for_post_requests(method: str, path: str, is_told: bool) -> None:
    """Ollama's clients read their list of models before anything else."""
    fault = misplaced({"method": method, "path": path})
    assert (fault is not None) is is_told
    assert fault is None or fault.message.startswith(f"Unknown request URL: {method} {path}. This gateway")
