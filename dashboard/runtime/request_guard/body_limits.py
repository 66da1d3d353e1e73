"""The maximum body size of each address; a larger one is refused before it is kept."""

from dataclasses import dataclass

from django.conf import settings

from dashboard.api.body_parser import MAX_BODY
from dashboard.gateway.serving.request_body import MOST_BYTES as MOST_GATEWAY
from dashboard.gateway.serving.uploads import MOST_BYTES as MOST_FORM
from dashboard.gateway.serving.uploads import UPLOADED
from dashboard.gateway.wire.decompression import MOST_PACKED as MOST_EXPORT
from dashboard.gateway.wire.relay_routes import FILES
from dashboard.ingest.turn_files.file_reader import MAX_BYTES as MOST_FILE

SMALL = 32_768  #: bytes that anybody may send anywhere; an address that is not below takes no more
_FORM = 65_536  #: what a browser writes around a file


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The maximum size of a body."""

    most: int  #: bytes
    what: str = "a form"  #: that is sent there
    asks: bool = True  #: whether the caller has to be known here before more than `SMALL` is taken


#: The gateway knows its caller before it reads anything.
_GATEWAY = BodyLimit(MOST_GATEWAY, "a request to the gateway", asks=False)
_NO_MORE = BodyLimit(SMALL, "a request to this address", asks=False)
#: By prefix, as `dashboard.accounts.access.BELOW`: the path without its last slash and all below it. The first counts.
_BELOW = (
    # As the gateway, the ingest knows its caller before it reads anything.
    ("/v1/traces/", BodyLimit(MOST_EXPORT, "an export of spans", asks=False)),
    ("/v1/logs/", BodyLimit(MOST_EXPORT, "an export of log records", asks=False)),
    *((f"{path}/", BodyLimit(MOST_FORM, "a form to the gateway", asks=False)) for path in sorted({*UPLOADED, FILES})),
    ("/v1/", _GATEWAY),
    ("/v1beta/", _GATEWAY),
    ("/api/v1/turns/import/", BodyLimit(MOST_FILE, "a turn file")),
    ("/api/v1/logs/import/", BodyLimit(MOST_FILE, "a log")),
    ("/api/", BodyLimit(MAX_BODY, "a request to the API")),
    ("/import/", BodyLimit(MOST_FILE + _FORM, "a form with a file")),
    ("/healthz/", _NO_MORE),
    ("/metrics/", _NO_MORE),
    ("/share/", _NO_MORE),
    ("/sign-in/", _NO_MORE),
    ("/admin/login/", _NO_MORE),
    ("/static/", _NO_MORE),
    ("/.well-known/", _NO_MORE),
)
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def body_limit_of(method: str, path: str) -> BodyLimit:
    """What a request may send; where the table has no word, as much as a form."""
    if method not in _WITH_BODY:
        return _NO_MORE
    form = BodyLimit(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return next((size for prefix, size in _BELOW if f"{path}/".startswith(prefix)), form)
