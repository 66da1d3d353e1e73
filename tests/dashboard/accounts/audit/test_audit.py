"""Each action leaves one entry, which nobody changes."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client

from dashboard.accounts.audit import selectors
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import User
from dashboard.accounts.roles import ACTIONS, Role, needs_session
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents.models import Agent
from dashboard.api import turn_files
from dashboard.exports.webhooks.models import Webhook
from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import ROUTES, World, browser_of, made_world, member, user_of
from tests.dashboard.pages import compact
from tests.first_start import CHECKOUT
from tests.nightly import nightly

pytestmark = pytest.mark.django_db
#: Served to browsers and to who is nobody yet.
SIGNING_IN = "sign-in"


def exported(browser: Client, **asked: str) -> list[dict]:
    """The file's entries, read as the server sends them: never all of them in memory."""
    answer = browser.get("/audit/file", asked)

    async def read() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return [json.loads(line) for line in asyncio.run(read()).splitlines()]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    def not_read(**_: object) -> None:
        raise ValidationError("An import runs in a process of its own, which sees no row of this test's.")

    monkeypatch.setattr(turn_files, "turn_import_apart", not_read)
    return made_world()


def changing() -> list[tuple[str, str]]:
    """Each route that changes something, with each method it serves for that."""
    methods = {route.rstrip("/"): SERVED.get(route, "").split() for route in ROUTES}
    named = [(route, method) for route in ACTIONS for method in methods[route] if method not in {"GET", "HEAD"}]
    return [(route, method) for route, method in named if not route.startswith(SIGNING_IN)]


@pytest.mark.parametrize("by", ["superuser", nightly("superuser's token")])
def test_every_url_that_changes_something_leaves_one_entry(world: World, by: str):
    caller, wrong = member(by, world), {}
    for route, method in changing():
        served = next(one for one in ROUTES if one.rstrip("/") == route)
        with transaction.atomic():
            before = set(Entry.objects.values_list("id", flat=True))
            answer = caller.ask(method, world.address(served), undone=False)
            found = [(e.method, e.action, e.by, e.status) for e in Entry.objects.exclude(id__in=before)]
            transaction.set_rollback(True)
        expected = [(method, route, world.owner.username, answer.status_code)]
        if caller.bears and needs_session(method, served):
            expected = []  # refused at the door
        if found != expected:
            wrong[method, route] = found
        if route == "sign-out":
            caller = member(by, world)
    assert wrong == {}
    assert len(changing()) > 60


def test_an_action_on_rows_of_the_admin_is_noted_with_its_name_and_the_rows(browser: Client):
    User.objects.filter(username=OPERATOR).update(is_staff=True, is_superuser=True)
    users = [User.objects.create_user(name) for name in ("anna", "ben")]
    form = {"action": "turn_two_factor_off", "_selected_action": [str(user.pk) for user in users]}
    assert browser.post("/admin/accounts/user/", form).status_code == 302
    assert browser.post("/admin/accounts/user/", {**form, "select_across": "1"}).status_code == 302
    rows = ",".join(form["_selected_action"])
    assert [told["target"] for told in exported(browser)] == [
        f"/admin/accounts/user/?action=turn_two_factor_off&selected={rows}",
        "/admin/accounts/user/?action=turn_two_factor_off&selected=all",
    ]


@pytest.mark.django_db(transaction=True)
def test_a_change_in_the_admin_leaves_an_entry_that_references_the_change(browser: Client, agent_of: Callable):
    agent = agent_of("sim-essay")
    User.objects.filter(username=OPERATOR).update(is_staff=True, is_superuser=True)
    form = f"/admin/agents/agent/{agent.pk}/delete/"
    assert browser.post(form, {"post": "yes"}).status_code == 302
    assert not Agent.objects.filter(pk=agent.pk).exists()
    (told,) = exported(browser)
    assert (told["by"], told["method"], told["target"], told["address"]) == (OPERATOR, "POST", form, "127.0.0.1")
    assert [(one["table"], one["object"], one["how"]) for one in told["changes"]] == [
        ("agents_agentchange", str(agent.pk), "deleted")
    ]


def test_changes_of_webhooks_and_telemetry_are_recorded_with_before_and_after(browser: Client):
    User.objects.filter(username=OPERATOR).update(is_staff=True, is_superuser=True)
    form = {"name": "on-call", "url": "https://one.example/", "events": ["turn.ended"]}
    assert browser.post("/webhooks/", form).status_code == 200
    webhook = Webhook.objects.get()
    browser.post(f"/webhooks/{webhook.pk}", {**form, "url": "https://two.example/"})
    Webhook.objects.update(failed_in_row=1, dropped=1)  # by the sender: no change of the settings
    browser.post(f"/webhooks/{webhook.pk}/disable")
    browser.post(f"/webhooks/{webhook.pk}/delete")
    changes = apps.get_model("webhooks", "WebhookChange").objects.order_by("pgh_id")
    assert list(changes.values_list("pgh_label", "url", "enabled", "pgh_context__by")) == [
        ("made", "https://one.example/", True, OPERATOR),
        ("changed", "https://two.example/", True, OPERATOR),
        ("changed", "https://two.example/", False, OPERATOR),
        ("deleted", "https://two.example/", False, OPERATOR),
    ]
    sent = {"name": "sink", "endpoint": "https://one.example", "key_header": "authorization", "enabled": "on"}
    assert browser.post("/admin/telemetry/destination/add/", sent).status_code == 302
    told = [[(one["table"], one["how"]) for one in entry["changes"]] for entry in exported(browser)]
    assert told == [
        *([("webhooks_webhookchange", how)] for how in ("made", "changed", "changed", "deleted")),
        [("telemetry_destinationchange", "made")],
    ]


def test_signing_in_and_out_leave_one_entry_each_and_reading_leaves_none():
    code, client = one_time_code_create(), Client(headers={"host": "127.0.0.1"})
    client.get("/sign-in/", {"code": "wrong"})
    client.get("/sign-in/", {"code": code})
    client.get("/")
    client.post("/sign-out/")
    entries = Entry.objects.order_by("id").values_list("action", "by", "via")
    assert list(entries) == [("sign-in", OPERATOR, "session"), ("sign-out", OPERATOR, "session")]
    assert code not in str(list(Entry.objects.values()))


def test_a_command_leaves_an_entry_of_the_account_that_ran_it(capsys: pytest.CaptureFixture[str]):
    call_command("sign_in_link")
    entry = Entry.objects.get()
    assert (entry.action, entry.via, entry.method, entry.status) == ("sign_in_link", "command", "", None)
    assert entry.by


def test_every_command_leaves_an_entry_unless_it_only_reads_or_serves():
    found = {path.stem: path.read_text() for path in CHECKOUT.glob("dashboard/**/management/commands/[a-z]*.py")}
    unrecorded = {name for name, source in found.items() if "command_record(" not in source}
    serving = {"up", "web", "worker"}
    assert unrecorded == {"bench", "doctor", "export_openapi_schema", "query", "replay", "verify"} | serving


def test_an_import_leaves_an_entry_and_a_dry_run_none(tmp_path: Path):
    (tmp_path / "log.jsonl").write_text("{}\n")
    for words in (["--dry-run"], []):
        with pytest.raises(SystemExit):
            call_command("import", str(tmp_path / "log.jsonl"), *words)
    (entry,) = Entry.objects.all()
    assert (entry.action, entry.target) == ("import", str(tmp_path / "log.jsonl"))


@pytest.mark.parametrize(
    ("change", "erasing"),
    [
        ("UPDATE audit_entry SET by = 'nobody'", "on"),
        ("DELETE FROM audit_entry", "on"),
        ("DELETE FROM audit_entry", ""),
        ("TRUNCATE audit_entry", ""),
    ],
)
def test_the_database_prevents_changes_of_an_entry(browser: Client, change: str, erasing: str):
    browser.post("/tour/key")

    def act() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL whystop.erasing = '{erasing}'")
            cursor.execute(change)

    with pytest.raises(DatabaseError, match="append-only"):
        act()
    assert Entry.objects.count() == 1


@pytest.mark.parametrize("address", ["/audit/", "/audit/file"])
def test_only_admins_read_the_audit_log(world: World, address: str):
    status = {role: browser_of(user_of(role)).get(address).status_code for role in Role}
    assert status == {Role.WATCHER: 403, Role.OPERATOR: 403, Role.ADMIN: 200}


@pytest.mark.django_db(transaction=True)
def test_filters_match_what_they_name_and_lead_to_older_entries(browser: Client, monkeypatch: pytest.MonkeyPatch):
    for action in ("one", "two"):
        for n in range(30):
            Entry.objects.create(
                began_at="2026-01-01T00:00Z", at=f"2026-01-0{1 + n % 2}T00:00Z", by=action, via="command",
                action=action, target=f"t{n}",
            )  # fmt: skip
    page = compact(browser.get("/audit/").content.decode())
    assert page.count('<th scope="row"><time') == 50
    older = page.split('href="?')[1].split('"')[0].replace("&amp;", "&")
    assert compact(browser.get(f"/audit/?{older}").content.decode()).count('<th scope="row"><time') == 10

    def shown(**asked: str) -> int:
        return compact(browser.get("/audit/", asked).content.decode()).count('<th scope="row"><time')

    assert shown(by="one") == 30
    assert shown(action="tw", target="t2") == 11
    assert shown(by="one", since="2026-01-02") == 15
    assert shown(by="one", until="2026-01-01") == 15
    for address in ("/audit/", "/audit/file"):
        wrong = browser.get(address, {"since": "soon"})
        assert wrong.status_code == 422
        html = wrong.content.decode()
        assert "From must be a date such as 2026-11-20." in html
        assert "Correct the filters to see entries." in html, "a filter that cannot be read lets nothing through"
    monkeypatch.setattr(selectors, "BATCH", 7)
    assert [told["by"] for told in exported(browser, by="two")] == ["two"] * 30
