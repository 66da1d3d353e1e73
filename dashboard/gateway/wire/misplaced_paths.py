"""Where a client goes whose base URL is wrong, or whose API has no door here, and what to do about it. Pure."""

import re

_V1 = "Set the client's base URL to this address followed by /v1."
_BARE = "Set the client's base URL to this address without a path: this client adds /v1 itself."
_CHAT = "Its models can be called as OpenAI chat completions: use an OpenAI client with this address followed by /v1."
#: The first that fits the whole path counts.
_TABLE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"(/.+)?/v1/messages(/count_tokens|/batches)?|(/anthropic)?/messages", _BARE),
        (r"/openai/deployments/.+", f"This gateway does not answer Azure OpenAI's deployment addresses. {_V1}"),
        (r"(/.+)?/chat/completions|(/openai|/v1/v1|/v1/openai/v1)?/(responses|embeddings|completions)", _V1),
        (r"/api/(chat|generate|embed|embeddings|tags|show)", f"This gateway does not speak Ollama's API. {_CHAT}"),
        (r"/v[12]/(chat|rerank)", f"This gateway does not speak Cohere's API. {_CHAT}"),
        (
            r"/model/.+/(converse|converse-stream|invoke|invoke-with-response-stream)",
            f"This gateway does not speak Amazon Bedrock's API. {_CHAT}",
        ),
        (
            r"/v1(beta1?)?/projects/.+:[A-Za-z]+",
            "This gateway does not speak Vertex AI's API. Use the Gemini API: POST /v1beta/models/…:generateContent.",
        ),
        (r"/v1/(fim|agents|conversations)(/.*)?", f"This gateway has no such address of Mistral's API. {_CHAT}"),
        (r"/(v1/)?metrics|/(traces|logs)|/v1/(traces|logs)/.+", "Send OTLP to /v1/traces and /v1/logs."),
    )
)


def advice_for(path: str) -> str:
    """What to change in the client, in sentences; empty where nothing is known of the path."""
    return next((words for pattern, words in _TABLE if pattern.fullmatch(path.rstrip("/"))), "")
