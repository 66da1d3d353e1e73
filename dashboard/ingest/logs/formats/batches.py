"""Results of the providers' batch interfaces: OpenAI's, and Anthropic's message batches.

A result names its request and does not hold it, so what was asked is unknown.
"""

from typing import Any

from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import mapping, words
from dashboard.ingest.logs.exchanges import LoggedCall
from dashboard.ingest.logs.formats.pairs import created_of
from dashboard.ingest.logs.values import Json

SOURCE = "batch result"
_ENDS = {"canceled": "The batch was canceled before this request was sent.", "expired": "The batch expired first."}
_ASKED = frozenset({"method", "params"})


def fits(told: Json) -> bool:
    return isinstance(told.get("custom_id"), str) and (
        "result" in told or "response" in told or bool(_ASKED & set(told))
    )


def logged(told: Json) -> LoggedCall | None:
    """None where it is a batch's request: its answer stands in another file."""
    if _ASKED & set(told) and "response" not in told and "result" not in told:
        return None
    name = words(told["custom_id"])
    if "result" in told:
        return _of_anthropic(mapping(told["result"]), name)
    response = mapping(told.get("response"))
    body, error = response.get("body"), mapping(told.get("error"))
    status = as_count(response.get("status_code"))
    return LoggedCall(
        request=None,
        answer=body,
        source=SOURCE,
        status=status if status is not None and 100 <= status < 600 else None,
        begun=created_of(body),
        name=name,
        error=words(error.get("message") or error.get("code")) if error else "",
        dialect="openai",
    )


def _of_anthropic(result: Json, name: str) -> LoggedCall:
    kind = words(result.get("type"))
    answer: Any = result.get("message") if kind == "succeeded" else result.get("error")
    return LoggedCall(None, answer, SOURCE, name=name, error=_ENDS.get(kind, ""), dialect="anthropic")
