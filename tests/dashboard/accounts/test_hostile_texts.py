"""Whatever a name or a text holds, no page makes an element of it."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.http import HttpResponse

from dashboard.agents.validation import name_valid
from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import ROUTES, made_world, member

pytestmark = pytest.mark.django_db
ELEMENT = "x-hostile"
HOSTILE = f"""'"><{ELEMENT} onclick=a>\r\n{{{{1}}}}</script></textarea><!--"""
#: Columns of texts that people, models, callers and servers choose.
TOLD = (
    "agent_name", "answer", "by", "disabled_because", "fault", "found", "input_text", "led_to", "model", "name",
    "notice", "output_text", "reason", "served_model", "system_prompt", "target", "text", "title", "told", "url",
    "user_name", "via", "why", "words",
)  # fmt: skip


def poisoned() -> Iterator[str]:
    """Write it before each such text that is there, as far as it fits; into which columns that was done."""
    there = set(connection.introspection.table_names())
    there.remove("django_content_type")  # nobody chooses those, and new ones would outlive the test in a cache
    for model in (one for one in apps.get_models() if one._meta.db_table in there):
        for field in model._meta.local_fields:
            is_told = isinstance(field, models.CharField | models.TextField) and field.name in TOLD
            table, most = model._meta.db_table, field.max_length or 100_000
            plain = field.choices or name_valid in field.validators  # addresses are made of such names
            if is_told and not plain and _poisoned(table, field.column, most):
                yield f"{table}.{field.column}"


def _poisoned(table: str, column: str, most: int) -> int:
    told = f"""UPDATE "{table}" SET "{column}" = left(%s || "{column}", %s) WHERE "{column}" <> ''"""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")  # some rows let nobody change them
            cursor.execute(told, [HOSTILE, most])
            many = cursor.rowcount
            cursor.execute("SET LOCAL session_replication_role = DEFAULT")
            return many
    except IntegrityError:  # of two that may not be the same
        return 0


def is_page(route: str) -> bool:
    """Of the admin's pages those that Django makes alike for every table are left out."""
    alike = route.startswith("admin/") and route.endswith(("add/", "delete/", "history/"))
    return not alike and "GET" in SERVED.get(route, "GET").split()


def made_of_it(answer: HttpResponse) -> list[str]:
    """What is wrong with a page."""
    text = b"" if answer.streaming else answer.content
    shown = answer.get("Content-Type", "").startswith(("text/html", "image/svg"))
    found = [said for said in (f"<{ELEMENT}", "</textarea><!--") if shown and said.encode() in text]
    return [*found, *([str(answer.status_code)] if answer.status_code >= 500 else [])]


def test_no_page_renders_markup_from_user_text():
    world = made_world()
    assert len(list(poisoned())) > 20
    who, found, shown = member("superuser", world), {}, 0
    for route in (one for one in ROUTES if is_page(one)):
        answer = who.ask("GET", world.address(route), undone=True)
        shown += not answer.streaming and ELEMENT.encode() in answer.content
        if wrong := made_of_it(answer):
            found[route] = wrong
    assert found == {}
    assert shown > 20
