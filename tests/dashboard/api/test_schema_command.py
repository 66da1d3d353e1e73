"""The API's schema is written by a command, without a server and without a database."""

import json
from io import StringIO

from django.core.management import call_command


def test_the_command_writes_the_schema_of_our_api():
    out = StringIO()
    call_command("export_openapi_schema", stdout=out)
    assert "/api/v1/turns" in json.loads(out.getvalue())["paths"]
