"""What the simulator answers when it does not answer. The words are OpenAI's where they are known.

Each dialect has its own form for an error; where it has its own words too, it asks for the `code`.
"""

from dataclasses import dataclass, field

WINDOW = 65_536  #: tokens of context that `sim-context` claims to have
CONTEXT_EXCEEDED = "context_length_exceeded"
BLOCKED = "content_filter"


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete HTTP answer."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(eq=False)
class RequestError(Exception):
    """The request is answered with an error object; `headers` are sent beside it."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    kind: str = "invalid_request_error"
    headers: tuple[tuple[str, str], ...] = field(default=())


def unknown_model(model: str) -> RequestError:
    return RequestError(
        404, f"The model `{model}` does not exist or you do not have access to it.", "model_not_found", "model"
    )


def broken_json(why: str) -> RequestError:
    return RequestError(400, f"We could not parse the JSON body of your request: {why}. Send one JSON object.")


def wrong_type(param: str, expected: str, value: object) -> RequestError:
    got = type(value).__name__
    return RequestError(
        400, f"Invalid type for '{param}': expected {expected}, but got {got} instead.", "invalid_type", param
    )


def budget_too_small(param: str, value: int, least: int) -> RequestError:
    wording = f"Invalid '{param}': integer below minimum value. Expected a value >= {least}, but got {value} instead."
    return RequestError(400, wording, "integer_below_min_value", param)


def budget_too_large(param: str, value: int, ceiling: int) -> RequestError:
    wording = (
        f"{param} is too large: {value}. This model supports at most {ceiling} completion tokens, "
        f"whereas you provided {value}."
    )
    return RequestError(400, wording, "invalid_value", param)


def no_messages(param: str) -> RequestError:
    wording = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    )
    return RequestError(400, wording, "empty_array", param)


def unknown_address(method: str, path: str) -> RequestError:
    return RequestError(404, f"Unknown request URL: {method} {path}. Please check the URL for typos.", "unknown_url")


def wrong_method(method: str, path: str, allowed: str) -> RequestError:
    wording = f"Not allowed to {method} on {path}. Use {allowed}."
    return RequestError(405, wording, "method_not_supported", headers=(("allow", allowed),))


def body_too_large(limit: int) -> RequestError:
    return RequestError(413, f"The request body is larger than {limit} bytes. Send a shorter conversation.")


def rate_limited(model: str, seconds: int | None = None) -> RequestError:
    """`seconds`: how long the caller is told to wait; `None` tells nothing."""
    again = "later" if seconds is None else f"in {seconds}s"
    wording = f"Rate limit reached for {model} on requests per minute (RPM). Please try again {again}."
    headers = () if seconds is None else (("retry-after", str(seconds)),)
    return RequestError(429, wording, "rate_limit_exceeded", None, "requests", headers)


def broken_server() -> RequestError:
    return RequestError(500, "The server had an error while processing your request.", "server_error", None, "server")


def overloaded() -> RequestError:
    """529 is Anthropic's own status; the other dialects say 503."""
    return RequestError(529, "The server is overloaded. Please try again later.", "overloaded", None, "server")


def context_exceeded() -> RequestError:
    wording = (
        f"This model's maximum context length is {WINDOW} tokens. However, your messages resulted in more. "
        "Please reduce the length of the messages."
    )
    return RequestError(400, wording, CONTEXT_EXCEEDED, "messages")


def prompt_blocked() -> RequestError:
    return RequestError(400, "The prompt was filtered by the content management policy.", BLOCKED, "prompt")


def not_of_this_dialect(model: str, dialect: str) -> RequestError:
    wording = (
        f"The model `{model}` has a behaviour that the {dialect} dialect cannot express. Request it in another dialect."
    )
    return RequestError(404, wording, "model_not_found", "model")


def prefill_refused() -> RequestError:
    wording = "This model does not support assistant message prefill. The conversation must end with a user message."
    return RequestError(400, wording)


def whitespace_at_the_end() -> RequestError:
    return RequestError(400, "messages: final assistant content cannot end with trailing whitespace")


def unknown_role(param: str, role: object, roles: tuple[str, ...]) -> RequestError:
    supported = ", ".join(f"'{name}'" for name in roles)
    wording = f"Invalid value: '{role}'. Supported values are: {supported}."
    return RequestError(400, wording, "invalid_value", f"{param}.role")


def bad_delay(value: str, slowest: float) -> RequestError:
    return RequestError(
        400, f"The header x-sim-delay-ms is '{value}'. Send milliseconds per token from 0 to {slowest:g}."
    )
