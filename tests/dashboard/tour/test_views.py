"""The first steps as each role sees them, with keys that are made there, and where signing in leads."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.accounts.services import one_time_code_create
from dashboard.agents.models import Project
from dashboard.gateway.models import GatewayKey
from dashboard.tour import services
from dashboard.tour.models import Stop
from dashboard.tour.selectors import turns_of_tour
from dashboard.turns.models import Turn
from tests.dashboard.driving import drive
from tests.dashboard.pages import page, read


def client_of(role: str) -> Client:
    user = User.objects.create_user(role)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


def words(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", html)))


def test_signing_in_leads_to_the_first_steps_until_a_turn_is_recorded(short: Project):
    client = Client(headers={"host": "127.0.0.1:8321"})

    def landing() -> str:
        return client.get(f"/sign-in/?code={one_time_code_create()}")["Location"]

    assert landing() == "/tour"
    assert landing() == "/tour", "also who is signed in already"
    drive(next(iter(_loaded(short).values())))
    assert landing() == "/"
    assert client.get("/sign-in/?next=/live/")["Location"] == "/live/"


def _loaded(project: Project) -> dict[str, Turn]:
    services.tour_load(project=project)
    return turns_of_tour(project)


def test_the_tour_is_loaded_with_one_button_shown_while_loading_and_removed_with_another(
    short: Project, admin_client: Client
):
    assert "Load the tour" in page(admin_client, "/tour")
    response = admin_client.post("/tour/load", follow=True)
    html = response.content.decode()
    assert response.redirect_chain == [("/tour", 302)]
    assert "The tour was started" not in html, "it stands beside how many have ended, also when all have"
    assert "Loading. You can open each turn while it runs." in html
    assert 'hx-trigger="every 1s"' in html
    for turn in turns_of_tour(short).values():
        drive(turn)
        assert f"/turns/{turn.id}" in html
    assert 'hx-trigger="every 1s"' in page(admin_client, "/tour"), "its re-runs are about to start"
    Turn.objects.update(finished_at=timezone.now() - timedelta(minutes=1))
    html = page(admin_client, "/tour")
    assert 'hx-trigger="every 1s"' not in html
    assert "Load the missing" in html
    assert "The tour was removed: 2 turns erased." in admin_client.post("/tour/remove", follow=True).content.decode()
    assert not Stop.objects.exists()


def test_the_page_of_a_lesson_states_its_point_and_links_to_the_next(short: Project, admin_client: Client):
    turns = _loaded(short)
    html = words(page(admin_client, f"/turns/{drive(turns['gave-up']).id}"))
    assert "Cut too often. The answer was still cut after three" in html
    assert f'href="/turns/{turns["whole-calls"].id}"' in page(admin_client, f"/turns/{turns['gave-up'].id}")
    assert "Next lesson" not in page(admin_client, f"/turns/{drive(turns['whole-calls']).id}")


def test_a_watcher_is_told_why_not_and_can_do_nothing(short: Project):
    _loaded(short)
    watcher = client_of("watcher")
    html = page(watcher, "/tour")
    assert "<form" not in html.partition("<main")[2]
    for what in ("Start a turn, talk to an agent", "Delete turns", "Create gateway keys"):
        assert f"Read-only access: this needs the permission “{what}" in words(html)
    for action in ("load", "remove", "key"):
        assert watcher.post(f"/tour/{action}").status_code == 403
    assert (Stop.objects.count(), GatewayKey.objects.count()) == (2, 0)


def test_an_operator_loads_it_and_is_told_who_can_remove_it(short: Project):
    operator = client_of("operator")
    assert operator.post("/tour/load").status_code == 302
    html = words(page(operator, "/tour"))
    assert "To remove the tour" in html
    assert operator.post("/tour/remove").status_code == 403
    assert Stop.objects.count() == 2


def test_a_key_is_created_with_one_button_and_inserted_into_every_snippet_once(short: Project, admin_client: Client):
    assert page(admin_client, "/tour").count("YOUR_KEY") == 2
    response = admin_client.post("/tour/key")
    html = response.content.decode()
    assert read(html).inline == []
    (secret,) = set(re.findall(r"whyk_[\w-]+", html))
    assert html.count(secret) == 3, "two snippets, and the form that loads the tour"
    assert admin_client.post("/tour/load", {"secret": secret}).content.decode().count(secret) >= 2
    assert "no-store" in response["Cache-Control"]
    assert 'OPENAI_BASE_URL="http://testserver/v1"' in unescape(html)
    assert "whyk_" not in page(admin_client, "/tour")
    key = GatewayKey.objects.get()
    assert (key.name, key.scope) == ("first steps", [])


@pytest.mark.parametrize("action", ["load", "remove"])
def test_a_click_while_another_user_loads_it_is_reported(
    short: Project, admin_client: Client, monkeypatch: pytest.MonkeyPatch, action: str
):
    monkeypatch.setattr(services, "LOCK", "SELECT false OR %s IS NULL")  # as the database says while it is held
    html = words(admin_client.post(f"/tour/{action}", follow=True).content.decode())
    assert "The tour is already being loaded or removed." in html
    assert not Stop.objects.exists()


def test_a_tour_that_cannot_be_loaded_says_why(short: Project, admin_client: Client):
    short.connection_set.update(base_url="http://127.0.0.1:1/v1")
    html = admin_client.post("/tour/load", follow=True).content.decode()
    assert "The simulator does not answer at 127.0.0.1:1." in html


@pytest.mark.parametrize("address", ["/", "/live/", "/agents/sim-essay/live", "/admin/agents/connection/"])
def test_the_simulator_is_not_called_by_a_vendors_name(short: Project, admin_client: Client, address: str):
    drive(_loaded(short)["gave-up"])
    html = words(page(admin_client, address).partition("<main")[2] or page(admin_client, address))
    assert "simulator" in html
    assert "openai" not in html


def test_each_built_in_agent_says_in_one_line_what_it_shows(short: Project, admin_client: Client):
    for address in ("/live/", "/tour"):
        html = words(page(admin_client, address))
        for name in ("sim-essay", "sim-endless", "sim-tools", "sim-cut-tool", "sim-refuse", "sim-flaky", "sim-json"):
            assert name in html
        assert "A truncated tool call, which is never run and is requested again." in html
