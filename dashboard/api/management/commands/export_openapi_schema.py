"""`manage.py export_openapi_schema`: Ninja's command, which does not find our API by itself."""

from ninja import NinjaAPI
from ninja.management.commands import export_openapi_schema


class Command(export_openapi_schema.Command):
    help = "Write the API's schema (OpenAPI) to standard output, or to a file (--output)."

    def _get_api_instance(self, api_path: str | None = None) -> NinjaAPI:
        return super()._get_api_instance(api_path or "dashboard.api.api.api")
