"""The API as one value; `api.urls` stands at /api/v1/."""

import functools
from typing import Any

from django.conf import settings
from ninja import NinjaAPI, Swagger
from ninja.openapi.schema import OpenAPISchema

from dashboard.api import (
    agents,
    alerts,
    audit,
    connections,
    conversations,
    exports,
    keys,
    limits,
    lint,
    metrics,
    policies,
    predictions,
    projects,
    refusals,
    replays,
    runs,
    streaming,
    tokens,
    turn_files,
    turns,
    webhooks,
    why,
)
from dashboard.api.body_parser import StrictParser
from dashboard.api.callers import Caller
from dashboard.api.conformance import routes as conformance
from dashboard.api.entity_tags import if_matched
from dashboard.api.openapi import ABOUT, with_events, with_problems, without_seam
from dashboard.api.openapi_examples import with_examples
from dashboard.api.openapi_headers import with_headers
from dashboard.api.problems import answer_with_problems


class Api(NinjaAPI):
    """Ninja's, with every error in its schema and short operation ids."""

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        return self._schema_at(prefix, settings.ENVIRONMENT.test_seam)

    @functools.lru_cache(maxsize=4)  # noqa: B019 - there is one API, which lives as long as its process
    def _schema_at(self, prefix: str, seam: bool) -> OpenAPISchema:
        """To make it takes a seventh of a second; it is the same for every request at one address."""
        schema = super().get_openapi_schema(path_prefix=prefix)
        with_problems(schema)
        with_events(schema)
        with_headers(schema)
        if not seam:
            without_seam(schema)
        with_examples(schema)
        return schema

    def get_openapi_operation_id(self, operation: Any) -> str:
        return str(operation.view_func.__name__)


api = Api(
    title="Whystop",
    version="1",
    description=ABOUT,
    urls_namespace="api",
    auth=Caller(),
    parser=StrictParser(),
    docs=Swagger({"tryItOutEnabled": True, "defaultModelsExpandDepth": 0}),
)
answer_with_problems(api)
api.add_decorator(if_matched, mode="operation")  # which is called with what was read of the request
for module in (
    connections, policies, limits, agents, conversations, exports, turn_files, turns, runs, why, streaming, lint,
    replays, predictions, keys, tokens, projects, refusals, audit, webhooks, metrics,
    alerts,
):  # fmt: skip
    api.add_router("", module.router)
api.add_router("", conformance.router)
api.add_router("", conformance.seam)
