"""The faults of unknown addresses, with what to change in the client, and of methods and callers that are refused."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import METHODS

MODELS, RESPONSES, GEMINI_MODELS = "/v1/models", "/v1/responses", "/v1beta/models"
_OLLAMA = "/api/"
Scope = Mapping[str, Any]
_V1 = "Set the client's base URL to this address followed by /v1."
_BARE = "Set the client's base URL to this address without a path: this client adds /v1 itself."
_TWICE = "Remove /v1 from the end of the client's base URL: this client adds it itself."
_OPENAI = "Use an OpenAI client, and set its base URL to this address followed by /v1."
#: What to change in a client, by the path it asks for; the first that fits the whole path counts.
_ADVICE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
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
    return next((words for pattern, words in _ADVICE if pattern.fullmatch(path.rstrip("/"))), "")


def refused_as(refusal: Refusal) -> Fault:
    headers: Mapping[str, str] = refusal.headers()
    return Fault(refusal.status, refusal.message, refusal.type, refusal.code, headers=tuple(headers.items()))


def unknown_address(scope: Scope, posted: Iterable[str]) -> Fault:
    advice = advice_for(scope["path"])
    message = (
        f"Unknown request URL: {scope['method']} {scope['path'][:200]}. {advice}{' ' if advice else ''}"
        f"This gateway answers {', '.join(f'POST {path}' for path in posted)}, GET {MODELS}, GET {MODELS}/…, "
        f"GET or DELETE {RESPONSES}/…, /v1/files and /v1/batches, "
        f"POST {GEMINI_MODELS}/…:{'|'.join(METHODS)} and GET {GEMINI_MODELS}"
    )
    return Fault(404, message, code="unknown_url")


def misplaced(scope: Scope) -> Fault | None:
    """The fault of a path that a client of another API asks for; None for any other. Pages may have the other paths, so
    these are only posted to; only Ollama's clients read below /api, where the REST API begins with /api/v1."""
    asks = scope["method"] == "POST" or scope["path"].startswith(_OLLAMA)
    advice = advice_for(scope["path"]) if asks else ""
    told = f"Unknown request URL: {scope['method']} {scope['path'][:200]}. {advice}"
    return Fault(404, told, code="unknown_url") if advice else None


def wrong_method(scope: Scope, allowed: str) -> Fault:
    message = f"{scope['path'][:200]} does not accept {scope['method']} requests. Use {allowed}."
    return Fault(405, message, code="method_not_supported", headers=(("allow", allowed.replace(" or ", ", ")),))
