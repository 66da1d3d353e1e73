"""What to change in a client whose base URL is wrong, or whose API the gateway does not support. Pure."""

import re

_V1 = "Set the client's base URL to this address followed by /v1."
_BARE = "Set the client's base URL to this address without a path: this client adds /v1 itself."
_TWICE = "Remove /v1 from the end of the client's base URL: this client adds it itself."
_OPENAI = "Use an OpenAI client, and set its base URL to this address followed by /v1."
#: The first that fits the whole path counts.
_TABLE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"(/v1)?/api/(chat|copy|create|delete|embed|embeddings|generate|ps|pull|push|show|tags|version)",
            f"This gateway does not support Ollama's API. {_OPENAI}",
        ),
        (
            r"(/v1)?/v2/(chat|embed)|/v1/(chat|classify|detokenize|embed|tokenize)",
            f"This gateway does not support Cohere's API. {_OPENAI}",
        ),
        (r"(/v1)?/v2/rerank", "This gateway does not support Cohere's API. Use POST /v1/rerank."),
        (r"/v1/(openai/)?v1/.+", _TWICE),
        (r"(/.+)?/v1/messages(/count_tokens|/batches)?|(/anthropic)?/messages", _BARE),
        (r"/openai/deployments/.+", f"This gateway does not support Azure OpenAI's deployment paths. {_V1}"),
        (r"(/.+)?/chat/completions|(/openai)?/(responses|embeddings|completions)", _V1),
        (
            r"/model/.+/(converse|converse-stream|invoke|invoke-with-response-stream)",
            f"This gateway does not support Amazon Bedrock's API. {_OPENAI}",
        ),
        (
            r"/v1(beta1?)?/projects/.+:[A-Za-z]+",
            "This gateway does not support Vertex AI's API. Use the Gemini API: POST /v1beta/models/…:generateContent.",
        ),
        (
            r"/v1/(fim|agents|conversations)(/.*)?",
            "This gateway does not support this endpoint of Mistral's API. Use POST /v1/chat/completions.",
        ),
        (r"/(v1/)?metrics|/(traces|logs)|/v1/(traces|logs)/.+", "Send OTLP to /v1/traces and /v1/logs."),
    )
)


def advice_for(path: str) -> str:
    """What to change in the client, in sentences; empty where nothing is known of the path."""
    return next((words for pattern, words in _TABLE if pattern.fullmatch(path.rstrip("/"))), "")
