"""Requests for files and batches: which connection they go to, and their bodies on the way there.

They name no model, so the caller's header says where they go, else the key's default, else the only connection that
has these addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from dashboard.agents.models import Project
from dashboard.agents.selectors import connection_list
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.access.refusals import out_of_scope
from dashboard.gateway.routing import AWAY_FAULT
from dashboard.gateway.serving.request_body import Receive, read_body
from dashboard.gateway.serving.uploads import Uploaded, read_form
from dashboard.gateway.wire.faults import INVALID, Fault
from dashboard.gateway.wire.relay_routes import BATCHES, CONNECTION_HEADER, FILES, OPENAI, FileRoute, connection_named
from dashboard.live.transport import Pieces
from dashboard.platform.db_threads import AWAY, in_database

NOWHERE = Fault(
    400,
    "A file or a batch names no model, so it is not known which connection it belongs to. Give the key a default "
    f"connection at /gateway/keys, or name one in the header {CONNECTION_HEADER}.",
    INVALID,
    "connection_unknown",
)
NO_BUDGET = Fault(
    403,
    "A key with a budget of tokens or dollars starts no batch: its calls run at the provider and are not counted. Use "
    "a key without such a budget.",
    INVALID,
    "permission_denied",
)
MOST_QUERY = 2_000  #: characters


@dataclass(frozen=True, slots=True)
class FileRequest:
    """One request, as `RelayRequest` is one that names a model. `body`: what goes on as it came."""

    method: str
    route: FileRoute
    query: str
    body: bytes | Uploaded
    kind: str  #: content type of a body of bytes
    dialects: frozenset[str] = field(default=OPENAI)
    metered: bool = field(default=False, init=False)  #: a batch tells the same usage each time it is read

    @property
    def path(self) -> str:
        return self.route.path.removeprefix("/v1")

    @property
    def label(self) -> str:
        return self.route.label.removeprefix("/v1")

    @property
    def content_type(self) -> str:
        return self.body.content_type if isinstance(self.body, Uploaded) else self.kind

    def path_for(self, _model: str) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    def wire(self, model: str, prompt: str) -> bytes | Pieces:
        return self.body.wire(model, prompt) if isinstance(self.body, Uploaded) else self.body

    def close(self) -> None:
        if isinstance(self.body, Uploaded):
            self.body.close()


async def read_file_request(scope: Mapping[str, Any], receive: Receive, route: FileRoute) -> FileRequest | Fault | None:
    """The request with its body; None where the client has gone before. Who gets it closes it."""
    query = scope.get("query_string", b"").decode("latin-1")
    if len(query) > MOST_QUERY:
        return Fault(414, f"The address has more than {MOST_QUERY:,} characters behind its “?”.", INVALID)
    method, told = scope["method"], dict(scope["headers"])
    if method != "POST":
        return FileRequest(method, route, query, b"", "")
    read = partial(read_form, path=route.path, named=False) if is_form(scope, route) else read_body
    body = await read(scope["headers"], receive)
    if body is None or isinstance(body, Fault):
        return body
    kind = told.get(b"content-type", b"application/json").decode("latin-1") if body else ""
    return FileRequest(method, route, query, body, kind)


def is_form(scope: Mapping[str, Any], route: FileRoute) -> bool:
    """Whether a file comes with the request."""
    return scope["method"] == "POST" and route.label == FILES


async def connection_of(scope: Mapping[str, Any], route: FileRoute, caller: Caller) -> str | Fault:
    """The name of the connection that a file or a batch belongs to."""
    if scope["method"] == "POST" and route.label == BATCHES and caller.limits.has_budget:
        return NO_BUDGET
    name = connection_named(scope["headers"]) or caller.default_connection
    try:
        name = name or await in_database(_only_one, caller.project)
    except AWAY:
        return AWAY_FAULT
    if name is None or not name.isprintable():
        return NOWHERE
    if caller.scope and f"{name}/*" not in caller.scope:
        refusal = out_of_scope(key=caller.name, wanted=f"{name}/*")
        return Fault(refusal.status, refusal.message, refusal.type, refusal.code)
    return name


def _only_one(project_id: UUID) -> str | None:
    rows = connection_list(project=Project(pk=project_id)).filter(provider__in=OPENAI)
    names = list(rows.values_list("name", flat=True)[:2])
    return names[0] if len(names) == 1 else None
