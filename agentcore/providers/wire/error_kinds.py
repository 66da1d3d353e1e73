"""What kind of failure an HTTP status, an error code and a message stand for, the same for every provider.

The kinds are the words of `ProviderError.kind`. What Anthropic and AWS call their errors is in `named_errors`.
Sources: the vendors' references, and messages as recorded.
"""

import re
from collections.abc import Mapping, Set

from agentcore.errors import ErrorType, ProviderError
from agentcore.reasons import NormalizedStopReason

#: Kinds that say why the model stopped rather than that something broke.
STOP_REASON_BY_KIND: Mapping[str, NormalizedStopReason] = {
    "context_length": NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    "content_policy": NormalizedStopReason.SAFETY_BLOCKED,
    "max_tokens": NormalizedStopReason.MAX_TOKENS,
}

#: The error of an answer that ended before a stop reason or the closing event came.
BROKE_OFF = ProviderError(
    ErrorType.MODEL,
    "incomplete_stream",
    "The answer broke off: the connection ended before a stop reason or the closing event came.",
)


def no_answer(empty: str) -> ProviderError:
    """The error of a body that is whole, and in which no answer stands. `empty`: where one belongs."""
    message = f"The provider sent no answer: its response has no {empty}."
    return ProviderError(ErrorType.VALIDATION, "no_answer", message)


_KIND_BY_STATUS: Mapping[int, str] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    498: "overloaded",
    503: "unavailable",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}
_STATUSES_THAT_NEVER_HEAL = frozenset({400, 401, 402, 403, 404, 413, 422})
# The same where no status speaks, as inside a stream.
_KINDS_THAT_NEVER_HEAL = frozenset({"auth", "not_found", "invalid_request", "too_large"})
_TYPE_BY_STATUS: Mapping[int, ErrorType] = {
    429: ErrorType.RATE_LIMIT,
    408: ErrorType.TIMEOUT,
    504: ErrorType.TIMEOUT,
    524: ErrorType.TIMEOUT,
}
_TYPE_BY_KIND: Mapping[str, ErrorType] = {"rate_limit": ErrorType.RATE_LIMIT, "timeout": ErrorType.TIMEOUT}

# Codes that mean more than the status they come with.
_STRONG_CODES: Mapping[str, str] = {
    word: kind
    for kind, words in {
        "context_length": (
            "context_length_exceeded exceed_context_size_error token_limit_exceeded too_many_prompt_tokens "
            "model_context_window_exceeded 1261"  # the number is Z.AI's
        ),
        "content_policy": (
            "content_filter content_policy_violation responsibleaipolicyviolation invalid_prompt bio_policy "
            "misalignment_policy_violation cyber_policy refusal image_content_policy_violation 1301"
        ),
        # Z.AI's numbers: an exhausted balance or plan, sent with 429.
        "quota": (
            "insufficient_quota billing_hard_limit_reached credit_balance_exhausted payment_required 1113 "
            + " ".join(map(str, range(1308, 1322)))
        ),
        "auth": "api_key_invalid",  # Google's, sent with 400
    }.items()
    for word in words.split()
}
# Codes that are asked only where no status speaks, as inside a stream.
_CODES: Mapping[str, str] = {
    word: kind
    for kind, words in {
        "rate_limit": (
            "rate_limit_exceeded rate_limit_error ratelimitreached too_many_requests throttlingexception "
            "resource_exhausted"
        ),
        "auth": (
            "invalid_api_key authentication authentication_error permission_denied permission_error unauthenticated"
        ),
        "not_found": "model_not_found deploymentnotfound not_found not_found_error",
        "overloaded": "provider_overloaded overloaded overloaded_error engine_overloaded",
        "unavailable": "provider_unavailable service_unavailable unavailable",
        "timeout": "timeout timeout_error request_timeout deadline_exceeded vector_store_timeout",
        "too_large": "payload_too_large request_too_large",
        "invalid_request": (
            "invalid_request invalid_request_error badrequesterror tool_use_failed unprocessable string_too_long "
            "invalid_argument failed_precondition precondition_failed max_tokens_exceeded "
            # What is wrong with an image, in the Responses API.
            "invalid_image invalid_image_format invalid_base64_image invalid_image_url invalid_image_mode "
            "image_too_large image_too_small image_parse_error image_file_too_large unsupported_image_media_type "
            "empty_image_file image_file_not_found"
        ),
    }.items()
    for word in words.split()
}

_CONTEXT_SAYS_SO = re.compile(
    r"maximum context length|exceeds the context window|prompt is too long|input is too long"
    r"|input length and `?max_tokens`? exceed context limit|input tokens exceeded"
    r"|exceeds the maximum number of tokens allowed|exceeds the available context size"
    r"|exceeded max context length|total length of all messages is too long"
    r"|inputs`? tokens \+ `?max_new_tokens`? must be <=|maximum prompt length"
    r"|current length is \S+ while limit is|prompt is longer than the context length|prompt exceeds max length",
    re.IGNORECASE,
)
# Said of other things too: of a rate, of one parameter.
_CONTEXT_MAY_BE_MEANT = re.compile(
    r"too many tokens(?!: max tokens must)|reduce the length|max_tokens must be at least 1(?!\d|, got 0)", re.IGNORECASE
)
_ONE_STRING_TOO_LONG = re.compile(r"string_above_max_length|string too long", re.IGNORECASE)
_CAP_TOO_SMALL = re.compile(r"could not finish the message because max_tokens", re.IGNORECASE)
_OVERLOAD = re.compile(r"overload|capacity", re.IGNORECASE)
_STATUSES_OF_A_BAD_INPUT = frozenset({400, 413, 422, 500, None})


def kind_of(status: int | None, codes: Set[str], message: str) -> str:
    """The kind, from the HTTP status (None where none speaks), the error's codes in lower case, and its message."""
    strong = next((kind for code, kind in _STRONG_CODES.items() if code in codes), None)
    if strong is None and any(code.endswith("_spend_limit_exceeded") for code in codes):
        strong = "quota"
    if strong is not None:
        return strong
    if _CAP_TOO_SMALL.search(message):
        return "max_tokens"
    if _is_context_length(status, codes, message):
        return "context_length"
    if status is None:
        return next((kind for code, kind in _CODES.items() if code in codes), "server")
    kind = _KIND_BY_STATUS.get(status, "server" if status >= 500 else "invalid_request")
    return "overloaded" if kind == "unavailable" and _OVERLOAD.search(message) else kind


def type_of(status: int | None, kind: str) -> ErrorType:
    """The type the error policy knows; a spent quota that comes as 429 is still a `rate_limit`."""
    return _TYPE_BY_STATUS.get(status or 0) or _TYPE_BY_KIND.get(kind, ErrorType.MODEL)


def may_heal(status: int | None, kind: str) -> bool:
    """Whether the same request can succeed later."""
    if kind == "quota" or kind in STOP_REASON_BY_KIND:
        return False
    return kind not in _KINDS_THAT_NEVER_HEAL if status is None else status not in _STATUSES_THAT_NEVER_HEAL


def _is_context_length(status: int | None, codes: Set[str], message: str) -> bool:
    if _ONE_STRING_TOO_LONG.search(message) or "string_above_max_length" in codes:
        return False
    # A 429 can hide a prompt that is too long, but "too many tokens" there is a rate.
    if status == 429 or status in _STATUSES_OF_A_BAD_INPUT:
        if _CONTEXT_SAYS_SO.search(message):
            return True
        return status != 429 and _CONTEXT_MAY_BE_MEANT.search(message) is not None
    return False
