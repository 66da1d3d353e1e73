"""A log that is sent to the server, by the page or by the API."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from dashboard.runtime.request_guard.body_limits import body_limit_of
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program, api  # noqa: F401 - a fixture
from tests.dashboard.ingest.logs.samples import FILES
from tests.dashboard.pages import compact

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("imports_here")]


def sent(browser: Client, name: str, content: bytes):
    return browser.post("/import", {"file": SimpleUploadedFile(name, content)})


def test_an_uploaded_transcript_becomes_turns_with_their_origin(browser: Client) -> None:
    html = compact(sent(browser, "<s1>.jsonl", FILES["claude"] + b"nonsense\n").content.decode())
    assert "<b>2</b>\u00a0turns imported" in html
    assert "&lt;s1&gt;.jsonl" in html
    assert "<b>9:</b> It is not JSON" in html
    last = Turn.objects.order_by("id").last()
    assert f'href="/turns/{last.id}"' in html
    page = compact(browser.get(f"/turns/{last.id}").content.decode())
    assert "from a log; not verified" in page
    assert "The turns before it contain the others" in page
    assert "<b>2</b>\u00a0turns were imported before" in compact(
        sent(browser, "s1.jsonl", FILES["claude"]).content.decode()
    )


def test_of_many_refused_records_the_first_are_told_and_where_to_find_the_rest(browser: Client, api: Program) -> None:  # noqa: F811
    content = FILES["claude"] + b"nonsense\n" * 150
    html = sent(browser, "s1.jsonl", content).content.decode()
    assert "(the first 100)" in html
    assert "<code>manage.py import</code> lists every refused record." in html
    told = api.post("/logs/import?name=s1.jsonl", content).json()
    assert (told["refused"], len(told["faults"])) == (150, 100)


def test_an_unreadable_log_is_refused_with_an_explanation(browser: Client) -> None:
    response = sent(browser, "notes.txt", b"Dear diary,\n")
    assert response.status_code == 422
    assert "Nothing was imported." in response.content.decode()


def test_the_api_accepts_a_log_of_the_size_of_a_turn_file() -> None:
    assert body_limit_of("POST", "/api/v1/logs/import").most == body_limit_of("POST", "/api/v1/turns/import").most


def test_the_api_accepts_a_log_and_reports_the_result(api: Program) -> None:  # noqa: F811
    dry = api.post("/logs/import?name=a.har&dry_run=true", FILES["archive"]).json()
    assert (dry["turns"], dry["last"], Turn.objects.count()) == (2, None, 0)
    made = api.post("/logs/import?name=a.har", FILES["archive"] + b"]").json()
    assert (made["turns"], made["here"], made["refused"]) == (2, 0, 0)
    ingested = api.get(f"/turns/{made['last']}").json()["ingested"]
    assert (ingested["log"], ingested["instrumentations"]) == ("a.har", ["HTTP archive"])
    nothing = api.post("/logs/import", b"Dear diary").json()
    assert [fault["line"] for fault in nothing["faults"]] == [1]


def test_a_request_without_a_log_is_refused(api: Program):  # noqa: F811
    assert api.problem("/logs/import?name=empty.jsonl", b"") == {}
