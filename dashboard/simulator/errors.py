"""What the simulator answers when it does not answer: OpenAI's error object, in OpenAI's words where they are known."""

from dataclasses import dataclass, field


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


def budget_too_small(param: str, value: int) -> RequestError:
    wording = f"Invalid '{param}': integer below minimum value. Expected a value >= 1, but got {value} instead."
    return RequestError(400, wording, "integer_below_min_value", param)


def budget_too_large(param: str, value: int, ceiling: int) -> RequestError:
    wording = (
        f"{param} is too large: {value}. This model supports at most {ceiling} completion tokens, "
        f"whereas you provided {value}."
    )
    return RequestError(400, wording, "invalid_value", param)


def no_messages() -> RequestError:
    wording = (
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    )
    return RequestError(400, wording, "empty_array", "messages")


def unknown_address(method: str, path: str) -> RequestError:
    return RequestError(404, f"Unknown request URL: {method} {path}. Please check the URL for typos.", "unknown_url")


def wrong_method(method: str, path: str, allowed: str) -> RequestError:
    wording = f"Not allowed to {method} on {path}. Use {allowed}."
    return RequestError(405, wording, "method_not_supported", headers=(("allow", allowed),))


def body_too_large(limit: int) -> RequestError:
    return RequestError(413, f"The request body is larger than {limit} bytes. Send a shorter conversation.")


def rate_limited(model: str, seconds: int) -> RequestError:
    wording = f"Rate limit reached for {model} on requests per minute (RPM). Please try again in {seconds}s."
    return RequestError(429, wording, "rate_limit_exceeded", None, "requests", (("retry-after", str(seconds)),))


def unknown_role(index: int, role: object, roles: tuple[str, ...]) -> RequestError:
    supported = ", ".join(f"'{name}'" for name in roles)
    wording = f"Invalid value: '{role}'. Supported values are: {supported}."
    return RequestError(400, wording, "invalid_value", f"messages[{index}].role")


def bad_delay(value: str, slowest: float) -> RequestError:
    return RequestError(
        400, f"The header x-sim-delay-ms is '{value}'. Send milliseconds per token from 0 to {slowest:g}."
    )
