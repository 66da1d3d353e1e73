"""An error's words as a `ProviderError`: what the exception's class, the status and the message say, and no more."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.errors import ErrorType, ProviderError
from agentcore.providers import get_provider
from agentcore.values import replace
from dashboard.ingest.conventions.attributes import as_count, first, read_json
from dashboard.ingest.conventions.content.shapes import mapping, mappings, words
from dashboard.ingest.conventions.observations import LoopFailure
from dashboard.ingest.conventions.spans import Span
from dashboard.ingest.conventions.tables import dialect_of

#: How clients word the status in their messages.
_STATUS = re.compile(
    r"(?:Error code|status_code|status code|Status|HTTP)[ :=]+([1-5][0-9]{2})\b|(?:^|Error: )([45][0-9]{2})(?= [A-Z{-])"
)
NOT_TOLD = "not_told"  #: the kind of an error of which no more is known than its words
_MOST = 2_000  #: characters of a message
#: By a word in the exception's class or in its message, in lower case without signs.
_WORDS: tuple[tuple[str, ErrorType, str], ...] = (
    ("ratelimit", ErrorType.RATE_LIMIT, "rate_limit"),
    ("toomanyrequests", ErrorType.RATE_LIMIT, "rate_limit"),
    ("throttling", ErrorType.RATE_LIMIT, "rate_limit"),
    ("timeout", ErrorType.TIMEOUT, "timeout"),
    ("timedout", ErrorType.TIMEOUT, "timeout"),
    ("connection", ErrorType.MODEL, "connection"),
    ("overloaded", ErrorType.MODEL, "overloaded"),
    ("authentication", ErrorType.MODEL, "auth"),
    ("internalserver", ErrorType.MODEL, "server"),
    ("serviceunavailable", ErrorType.MODEL, "unavailable"),
    ("theserverhadanerror", ErrorType.MODEL, "server"),  # OpenAI's sentence, of which the AI SDK tells no more
    ("badrequest", ErrorType.MODEL, "invalid_request"),
    ("validationexception", ErrorType.MODEL, "invalid_request"),  # AWS's names of its errors
    ("accessdeniedexception", ErrorType.MODEL, "auth"),
)
#: What a framework answers in the model's place where a limit of its loop is reached, and raises no error.
_GIVEN_UP = frozenset({
    "Sorry, need more steps to process this request.",
    "Agent stopped due to iteration limit or time limit.",
    "Agent stopped due to max iterations.",
})  # fmt: skip
_ANSWERS = (
    "output.value",
    "traceloop.entity.output",
    "final_result",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
    "langwatch.output",
    "output",
    "gen_ai.completion",
)
_TRACE = "Traceback (most recent call last)"
_CAUSED = "The above exception was the direct cause of the following exception:"
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Timeout): \S")
_SIGNS = re.compile(r"[^a-z]")
#: What frameworks name the exceptions of their limits of an agent's loop, in the same letters.
_LIMITS = (
    "agentmaxsteps", "calllimitexceeded", "callslimitexceeded", "graphrecursion", "maxagentsteps", "maxcomponentruns",
    "maxiterations", "maxstepserror", "maxstepsexceeded", "maxturnsexceeded", "usagelimitexceeded",
)  # fmt: skip
#: How they word them. A provider words its own limits likewise, so no word of those stands here.
_LIMIT_SAID = re.compile(
    r"recursion limit of \d+ reached"
    r"|\bmax(?:imum)?[ _]?(?:number of )?(?:agent[ _]?)?(?:turns|steps|iterations|llm calls|tool calls)\b"
    r"|\bMaxTurnsExceeded\b|\bGraphRecursionError\b"
    r"|\b(?:request|tool_calls|(?:total|input|output)_tokens)_limit of \d",
    re.IGNORECASE,
)


def failure_of(span: Span, provider: str) -> ProviderError | None:
    """Why the call failed; None where its span says that it did not."""
    if not span.failed and not span.attributes.get("error.type"):
        return None
    told = _class_of(span)
    message = (_own_words(span.message) or _message_of(span) or told or "The span's status is an error.")[:_MOST]
    status = _status_of(span, message)
    if status is not None and status >= 400:
        found = get_provider(dialect_of(provider)).decode_error(status, {}, b"")
        return replace(found, message=message)
    for text in (told, message):
        if (meant := _by_words(text)) is not None:
            return ProviderError(*meant, message)
    for cause in _causes_of(span):
        if (meant := _by_words(cause)) is not None:
            return ProviderError(*meant, f"{message} (caused by {cause})"[:_MOST])
    return ProviderError(ErrorType.UNKNOWN, NOT_TOLD, message)


def _by_words(text: str) -> tuple[ErrorType, str] | None:
    folded = _SIGNS.sub("", text.casefold())
    return next(((type_, kind) for word, type_, kind in _WORDS if word in folded), None)


def _causes_of(span: Span) -> Iterator[str]:
    """The exceptions that Python names as the cause of the one that was raised, the first of them first: class and
    message, as the stack trace has them."""
    for event in span.events:
        trace = event.attributes.get("exception.stacktrace")
        if event.name == "exception" and isinstance(trace, str):
            for part in trace.split(_CAUSED)[:-1]:
                yield from (line for line in part.splitlines() if _RAISED.match(line))


def loop_failure_of(span: Span) -> LoopFailure | None:
    """How a loop failed; None where its span says that it did not."""
    failed = failure_of(span, "")
    if failed is None:
        said = last_words_of(span)
        return LoopFailure("", said, is_limit=True) if said in _GIVEN_UP else None
    name = _class_of(span).rpartition(".")[2]
    is_limit = _is_limit(name, failed)
    known = failed.kind != NOT_TOLD and not is_limit
    return LoopFailure(name, _message_of(span) or failed.message, is_limit, failed if known else None)


def last_words_of(span: Span) -> str:
    """What a loop that did not fail answered in the end: its last message, else the text or the JSON it gave."""
    written = first(span.attributes, _ANSWERS)
    read = read_json(written)
    told = mapping(mapping(read).get("outputs")) or mapping(read)
    if isinstance(told.get("raw"), str):  # a task's answer of CrewAI, whose messages may end with its own prompt
        return str(told["raw"])
    return _last_message(told) or words(read if isinstance(read, str) else written)


def _last_message(told: Mapping[str, Any]) -> str:
    messages = list(mappings(told.get("messages")))
    last = messages[-1] if messages else {}
    last = mapping(last.get("data")) or mapping(last.get("kwargs")) or last
    return words(last.get("content") or told.get("output") or told.get("value"))


def _is_limit(name: str, failed: ProviderError) -> bool:
    """Whether a limit of the loop's own ended it: as the exception's class says, else, of an error that is not known
    to be a provider's, its message."""
    folded = _SIGNS.sub("", name.casefold())
    if any(word in folded for word in _LIMITS):
        return True
    return failed.kind == NOT_TOLD and _LIMIT_SAID.search(failed.message) is not None


def _own_words(message: str) -> str:
    """Without the stack trace that OpenInference for LangChain writes after them."""
    return message.partition(_TRACE)[0].strip() or message


def _class_of(span: Span) -> str:
    told = span.attributes.get("error.type")
    if isinstance(told, str) and told:
        return told
    named = [event.attributes.get("exception.type") for event in span.events if event.name == "exception"]
    return next((name for name in named if isinstance(name, str)), "")


def _message_of(span: Span) -> str:
    told = [event.attributes.get("exception.message") for event in span.events if event.name == "exception"]
    return next((message for message in told if isinstance(message, str)), "")


def _status_of(span: Span, message: str) -> int | None:
    status = as_count(span.attributes.get("http.response.status_code"))
    if status is None and (found := _STATUS.search(message)) is not None:
        status = int(found.group(1) or found.group(2))
    return status if status is not None and 100 <= status < 600 else None
