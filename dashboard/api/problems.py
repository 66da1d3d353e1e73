"""Every error of the API as problem details, in sentences that say what to do.

400  words: malformed JSON, a value that is not allowed, a cursor of no timeline
404  nothing there · 409 not where the action makes sense · 413 too large
429  as many streams open as one caller may have
422  the body is not of the shape asked for: a field missing, unknown or of another type
"""

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ObjectDoesNotExist, RequestDataTooBig
from django.core.exceptions import ValidationError as WordsError
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.errors import ValidationError as ShapeError

from agentcore.number_format import as_set
from agentcore.policy import SETTING_NAMES, setting_named
from agentcore.quoting import shortened
from dashboard.accounts.error_responses import RETRY_SECONDS, reason_unavailable
from dashboard.api.body_parser import TOO_LARGE
from dashboard.ingest.turn_files.import_queue import ImportBusyError
from dashboard.live.services import TurnConflict
from dashboard.live.stream_limits import TooManyStreamsError
from dashboard.platform.form_errors import told_of
from dashboard.platform.one_line import ONE_LINE
from dashboard.turns.damaged_pages import damage_words
from dashboard.turns.selectors import BadCursorError

logger = logging.getLogger(__name__)

Fault = dict[str, str | None]

REPLAY_MODES = ("verify", "what_if", "rerun", "sweep")
#: What pydantic finds in a value of the right shape.
VALUE_FAULTS = {"nul", "one_line"}
#: What is said after the name of a field of the wrong shape, by pydantic's word for it.
SHAPE_WORDS: Mapping[str, str] = {
    "missing": "is required.",
    "string_type": "must be text.",
    "int_type": "must be a whole number.",
    "dict_type": "must be an object.",
    "model_type": "must be an object.",
    "model_attributes_type": "must be an object.",
    "list_type": "must be a list.",
    "too_long": "must have at most {max_length} {unit}; it has {actual_length}.",
    "too_short": "must have at least {min_length} {unit}; it has {actual_length}.",
    "literal_error": "must be one of {expected}.",
    "union_tag_invalid": "must be one of {expected_tags}.",
    "union_tag_not_found": "is required.",
    "bool_type": "must be true or false.",
    "bool_parsing": "must be true or false.",
    "float_type": "must be a number.",
    "float_parsing": "must be a number.",
    "finite_number": "must be a number.",
    "int_parsing": "must be a whole number.",
    "int_parsing_size": "must be a smaller whole number.",
    "int_from_float": "must be a whole number.",
    "greater_than_equal": "must be at least {ge}.",
    "greater_than": "must be more than {gt}.",
    "less_than_equal": "must be at most {le}.",
    "less_than": "must be less than {lt}.",
    "string_too_short": "must have at least {min_length} characters.",
    "string_too_long": "must have at most {max_length} characters.",
    "empty": "must not be empty.",
    "nul": "must not contain the character U+0000.",
    "moment": "must be a date and time as text, such as 2030-01-31T12:00:00Z.",
    "one_line": ONE_LINE,
}
TOO_SHORT = ("too_short", "string_too_short")
#: What the length of a value counts, by pydantic's word for its kind; of texts it counts characters.
LENGTH_OF: Mapping[str, str] = {"List": "items", "Dictionary": "fields"}


def problem(status: int, detail: str, faults: Iterable[Fault] = ()) -> HttpResponse:
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": list(faults),
    }
    return JsonResponse(body, status=status, content_type="application/problem+json")


def aware(moment: datetime | None) -> datetime | None:
    """A moment without a time zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


@contextmanager
def about(field: str) -> Iterator[None]:
    """What is said to be wrong within is said of this field."""
    try:
        yield
    except WordsError as error:
        raise WordsError({field: _all_of(error)}) from error


@contextmanager
def about_parts_of(field: str, names: Collection[str]) -> Iterator[None]:
    """What is said within of `names` is said of parts of this field."""
    try:
        yield
    except WordsError as error:
        if not hasattr(error, "error_dict"):
            raise
        said = error.error_dict.items()
        raise WordsError({f"{field}.{name}" if name in names else name: words for name, words in said}) from error


def _all_of(error: WordsError) -> list[WordsError]:
    by_field = error.error_dict.values() if hasattr(error, "error_dict") else [error.error_list]
    return [fault for found in by_field for fault in found]


def _told(faults: Iterable[WordsError]) -> list[str]:
    return list(dict.fromkeys(str(words) for fault in faults for words in fault.messages))


def of_words(_: HttpRequest, error: WordsError) -> HttpResponse:
    """400 with a sentence for each field."""
    by_field = error.error_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.error_list}
    faults: list[Fault] = [
        {"field": None if field == NON_FIELD_ERRORS else shortened(field), "message": message}
        for field, found in by_field.items()
        for message in (_told(found) if field == NON_FIELD_ERRORS else told_of(field, found))
    ]
    return problem(400, " ".join(str(fault["message"]) for fault in faults), faults)


def of_shape(_: HttpRequest, error: ShapeError) -> HttpResponse:
    """422; 404 where what is wrong is the address, 400 where the shape is right and a value is not allowed."""
    if any(fault["loc"][0] == "path" for fault in error.errors):
        return problem(404, "There is nothing at this address. An id has 32 hexadecimal digits with dashes.")
    faults = [_shape_fault(fault) for fault in error.errors]
    status = 400 if all(fault["type"] in VALUE_FAULTS for fault in error.errors) else 422
    return problem(status, " ".join(str(fault["message"]) for fault in faults), faults)


def _shape_fault(fault: Mapping[str, Any]) -> Fault:
    context = fault.get("ctx") or {}
    field = ".".join([*_place(fault["loc"]), *_added(fault["type"], context)]) or None
    if field is None and fault["type"] == "missing":
        return {"field": None, "message": "The body is empty; send a JSON object."}
    kind = "empty" if fault["type"] in TOO_SHORT and context.get("min_length") == 1 else fault["type"]
    words = SHAPE_WORDS.get(kind)
    if fault["type"] == "unknown_field":
        return {"field": field, "message": fault["msg"]}
    if words is None:  # what pydantic says is no template: it may quote braces that a caller sent
        return {"field": field, "message": f"{field or 'The body'}: {fault['msg'].rstrip('.')}."}
    told = words.format_map(
        _Kept({"unit": LENGTH_OF.get(str(context.get("field_type")), "characters"), **_shown(context)})
    )
    return {"field": field, "message": f"{_named(field)} {told}"}


def _named(field: str | None) -> str:
    """A field as sentences name it: a setting by its name and key."""
    if field is None:
        return "The body"
    return setting_named(field) if field in SETTING_NAMES else field


def _shown(context: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a fault as sentences have them: numbers with commas."""
    return {key: as_set(value) if type(value) in (int, float) else value for key, value in context.items()}


def _place(loc: Sequence[Any]) -> list[str]:
    """Where in the caller's own words: without the source, the view's parameter, and the word of a union."""
    parts = [str(part) for part in loc[2 if loc[0] == "body" else 1 :]]
    return parts[1:] if parts and parts[0] in REPLAY_MODES else parts


def _added(kind: str, context: Mapping[str, Any]) -> list[str]:
    """The part of the place that pydantic leaves out."""
    if kind == "unknown_field":
        return [str(context["field"])]
    return ["mode"] if kind in ("union_tag_invalid", "union_tag_not_found") else []


class _Kept(dict[str, Any]):
    """A placeholder for which pydantic gives no value stays as it is."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def of_missing(_: HttpRequest, error: ObjectDoesNotExist) -> HttpResponse:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(error).partition(" matching query")[0]).lower()
    words = re.sub(r"\b(api|mcp)\b", lambda found: found[0].upper(), words)
    return problem(404, f"There is no {words} with this name or id.")


def of_http(_: HttpRequest, error: HttpError) -> HttpResponse:
    """Ninja hides what a parser says behind an error of its own."""
    told = error.__cause__ if isinstance(error.__cause__, HttpError) else error
    return problem(told.status_code, told.message)


def of_size(_: HttpRequest, __: RequestDataTooBig) -> HttpResponse:
    return problem(413, TOO_LARGE)


def of_unknown_address(_: HttpRequest, __: Http404) -> HttpResponse:
    return problem(404, "There is nothing at this address. /api/v1/docs lists all addresses.")


def of_conflict(_: HttpRequest, error: TurnConflict) -> HttpResponse:
    return problem(409, str(error))


def of_streams(_: HttpRequest, error: TooManyStreamsError) -> HttpResponse:
    return problem(429, str(error))


def of_busy(_: HttpRequest, error: ImportBusyError) -> HttpResponse:
    response = problem(503, str(error))
    response["Retry-After"] = str(error.wait)
    return response


def of_cursor(_: HttpRequest, error: BadCursorError) -> HttpResponse:
    return problem(400, str(error), [{"field": "cursor", "message": str(error)}])


def of_no_database(_: HttpRequest, error: Exception) -> HttpResponse:
    response = problem(503, reason_unavailable(error))
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def of_surprise(request: HttpRequest, error: Exception) -> HttpResponse:
    """409 where what is stored of a turn is damaged; else 500 without a word of what happened, which the log has.

    Raises MemoryError again: a process that answers a replay ends with it, and the server says so.
    """
    if isinstance(error, MemoryError):
        raise error
    if words := damage_words(request, error):
        return problem(409, words)
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    return problem(500, "An internal error occurred. The server log has the details.")


HANDLERS: Mapping[type[Exception], Any] = {
    WordsError: of_words,
    ShapeError: of_shape,
    ObjectDoesNotExist: of_missing,
    HttpError: of_http,
    RequestDataTooBig: of_size,
    Http404: of_unknown_address,
    TurnConflict: of_conflict,
    TooManyStreamsError: of_streams,
    ImportBusyError: of_busy,
    BadCursorError: of_cursor,
    OperationalError: of_no_database,
    InterfaceError: of_no_database,
    Exception: of_surprise,
}


def answer_with_problems(api: NinjaAPI) -> None:
    for kind, handler in HANDLERS.items():
        api.add_exception_handler(kind, handler)
