"""The API as one value; `api.urls` stands at /api/v1/."""

from typing import Any

from django.conf import settings
from ninja import NinjaAPI, Swagger
from ninja.openapi.schema import OpenAPISchema

from dashboard.api import (
    agents,
    connections,
    conversations,
    keys,
    limits,
    lint,
    policies,
    predictions,
    replays,
    runs,
    streaming,
    turn_files,
    turns,
    why,
)
from dashboard.api.callers import Caller
from dashboard.api.openapi import ABOUT, with_events, with_problems, without_seam
from dashboard.api.problems import answer_with_problems
from dashboard.api.reading import StrictParser
from dashboard.conformance import routes as conformance


class Api(NinjaAPI):
    """Ninja's, with every error in its schema and short operation ids."""

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**kwargs)
        with_problems(schema)
        with_events(schema)
        if not settings.ENVIRONMENT.test_seam:
            without_seam(schema)
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
for module in (
    connections, policies, limits, agents, conversations, turn_files, turns, runs, why, streaming, lint, replays,
    predictions, keys,
):  # fmt: skip
    api.add_router("", module.router)
api.add_router("", conformance.router)
api.add_router("", conformance.seam)
