"""Turns of any filter as one file."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from agentcore.quoting import quoted
from dashboard.accounts.session_watch import ticket_of_request
from dashboard.api.callers import caller
from dashboard.api.openapi import EXPORT_ANSWER, EXPORT_PARAMETERS
from dashboard.api.streaming import key_of
from dashboard.exports.formats import FORMATS, export_response
from dashboard.turns.filters import CHOICES, TimelineFilters, unknown_filters

router = Router(tags=["turns"])


@router.get(
    "/turns/export",
    response={200: None},
    summary="Export turns",
    openapi_extra={"parameters": EXPORT_PARAMETERS, "responses": {200: EXPORT_ANSWER}},
)
def turns_export(request: HttpRequest) -> StreamingHttpResponse:
    """All turns that match the filters, newest first, with their calls: JSONL with one line per turn, or Parquet
    with one row per turn. The file is written while it is sent; if that fails, the connection is closed early."""
    filters, errors = TimelineFilters.parse_stored(request.GET)
    given = request.GET.get("format", "jsonl")
    errors |= unknown_filters(request.GET, beside=("format",))
    if given not in FORMATS:
        errors["format"] = f"There is no format {quoted(given)}; choose from {', '.join(FORMATS)}."
    errors |= {
        name: "An export has no order and no grouping; remove this parameter."
        for name in CHOICES
        if name in request.GET
    }
    if errors:
        raise ValidationError(errors)
    who = key_of(caller(request), getattr(request, "auth_token", None))
    return export_response(filters=filters, named=given, who=who, ticket=ticket_of_request(request))
