"""Request bodies: at most 2 MB of strict JSON. What announces itself as larger than Django takes is not even read."""

from typing import Any, cast

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.parser import Parser

from dashboard.platform.strict_json import read_strictly

MAX_BODY = 2_000_000  #: bytes
TOO_LARGE = f"The body is larger than {MAX_BODY:,} bytes; send less at a time."


class StrictParser(Parser):
    """Takes what RFC 8259 calls JSON and Postgres keeps: UTF-8, no NaN, no 1e999, nothing after the end."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Raises HttpError 413 or 400, which reaches the caller as the cause of ninja's own."""
        if len(request.body) > MAX_BODY:
            raise HttpError(413, TOO_LARGE)
        try:
            return cast("dict[str, Any]", read_strictly(request.body))
        except ValueError as error:
            raise HttpError(400, f"The body is not JSON: {error}.") from error
