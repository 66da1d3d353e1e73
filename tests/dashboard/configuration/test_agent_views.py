"""Agents and connections by page."""

from datetime import timedelta
from html import escape, unescape

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents import services
from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.stale_forms import _shown
from dashboard.policies.audit_log import configuration_trail
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from tests.dashboard.pages import text_of
from tests.dashboard.timeline.populations import make_turns

pytestmark = pytest.mark.django_db
CONNECTION = {
    "name": "far",
    "provider": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "hint_role": "system",
    "max_tokens_field": "max_tokens",
}


@pytest.fixture
def admins(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ann"))
    return client


@pytest.fixture
def operators(db: None) -> Client:
    client, user = Client(), User.objects.create_user("olga")
    user.groups.add(Group.objects.get(name="operator"))
    client.force_login(user)
    return client


@pytest.fixture
def agent(project: Project, connection: Connection) -> Agent:
    return services.agent_create(project=project, name="writer", connection=connection, model="m", max_tokens=50)


def page(client: Client, address: str, status: int = 200, **data: object) -> str:
    answer = client.post(address, data, follow=True) if data else client.get(address)
    assert answer.status_code == status
    return unescape(answer.content.decode())


def given_to(agent: Agent, **changed: object) -> dict[str, object]:
    """What the form of an agent sends."""
    same = {"name": agent.name, "connection": agent.connection.pk, "model": agent.model, "max_tokens": agent.max_tokens}
    return {**same, "gateway_mode": "continue", "approve_otherwise": "refuse", **changed}


def test_a_list_shows_the_active_policies_and_the_turns_of_seven_days(admins: Client, project: Project, agent: Agent):
    base = policy_create(project=project, name="base", limits={"max_steps": 9})
    policy_attach(project=project, policy=base.policy, provider="")
    policy_create(project=project, name="drafted", limits={"max_steps": 5}, activate=False)
    now = timezone.now()
    ended = {"agent_name": "writer", "model_stop_reason": "end_turn"}
    cut = {**ended, "model_stop_reason": "max_tokens"}
    week_ago = (now - timedelta(days=8), cut)
    make_turns([(now, {**ended, "continuations": 1}), (now, cut), (now, ended), (now, ended), week_ago])
    make_turns([(now, {**cut, "agent_name": "other"})])
    html = page(admins, "/agents/")
    assert "base v1 attached to the whole site" in text_of(html)
    assert ">4</a>" in html
    assert "50\u202f%" in html
    assert "4 turns in 7 days" in text_of(page(admins, "/agents/writer"))


def test_an_agent_is_created_and_changed_with_who_and_why(admins: Client, project: Project, connection: Connection):
    assert f'value="{connection.pk}" selected' in page(admins, "/agents/+new?connection=near")
    given = {"connection": connection.pk, "model": "m", "gateway_mode": "continue", "approve_otherwise": "refuse"}
    html = page(admins, "/agents/+new", name="new", max_tokens=40, tools=["calculator"], **given)
    assert "The agent “new” was created." in html
    agent = Agent.objects.get()
    changed = given_to(agent, max_tokens=60, tools=["calculator"], why="Answers were cut.")
    assert "Saved." in page(admins, "/agents/new", **changed)
    agent.refresh_from_db()
    assert (agent.max_tokens, agent.tools, agent.envelope_schema, agent.breakpoints) == (60, ["calculator"], None, [])
    newest = configuration_trail(project, (Agent,))[0]
    assert (newest.by, newest.why) == ("ann", "Answers were cut.")
    assert "Max tokens per call 40 → 60" in newest.what
    assert "/agents/new" in page(admins, "/audit/")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_tokens": 5000}, 'id="id_max_tokens_error"'),
        ({"name": "a b"}, '<p class="error">A name may contain letters a–z'),
        ({"breakpoints": "[{"}, 'id="id_breakpoints_error"'),
        ({"tools": ["nothing"]}, 'id="id_tools_error"'),
    ],
)
def test_a_fault_of_an_agent_is_reported_at_its_field(
    admins: Client, agent: Agent, wrong: dict[str, object], words: str
):
    html = page(admins, "/agents/writer", 422, **given_to(agent, **wrong))
    assert words in html
    assert "<b>writer</b></p>" in html, "the page is that of the agent as it is stored"


def test_without_permission_settings_are_shown_without_a_form(operators: Client, agent: Agent, connection: Connection):
    for address in ("/agents/writer", "/connections/near"):
        html = page(operators, address)
        assert "read-only" in html
        assert 'class="settings-form"' not in html
        assert "<input" not in html.split("<main")[1]
        assert operators.post(address, {"name": "mine"}).status_code == 403
    assert "Change limits" not in page(operators, "/agents/writer")
    assert "New agent" not in page(operators, "/agents/")
    assert "Only an administrator may create" in page(operators, "/agents/+new")
    assert "API key found" not in page(operators, "/connections/near")


def test_a_connection_is_created_and_faults_are_reported_at_their_fields(admins: Client):
    wrong = page(admins, "/connections/+new", 422, **{**CONNECTION, "base_url": "here", "api_key_env": "DATABASE_URL"})
    assert '<p class="error">The address must begin with http' in wrong
    assert '<p class="error">DATABASE_URL is a secret' in wrong
    assert "The connection “far” was created." in page(admins, "/connections/+new", **CONNECTION)
    unnamed = page(admins, "/connections/far", 422, **{**CONNECTION, "api_key_env": "MY_OWN"})
    assert "MY_OWN is not among the variables that may be sent (WHYSTOP_KEY_NAMES: *_API_KEY)" in unnamed
    assert Connection.objects.get().api_key_env == ""


def test_the_allowed_variables_are_offered(admins: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAR_API_KEY", "x")
    monkeypatch.setenv("WHYSTOP_API_KEY", "x")
    html = page(admins, "/connections/+new")
    assert '<option value="FAR_API_KEY">' in html
    assert "WHYSTOP_API_KEY" not in html


def test_a_test_of_a_connection_reports_its_findings(admins: Client, connection: Connection):
    given = {**CONNECTION, "name": "near", "_test": "1"}
    assert '<p class="error">Enter a model' in page(admins, "/connections/near", 422, **given)
    html = page(admins, "/connections/near", **given, test_model="m")
    assert "Saved. Could not tell whether it continues a last assistant message." in html
    assert "The server does not answer requests" in html or "The server said" in html
    assert "What-ifs with another Max tokens per call are therefore estimates" in html


def test_missing_names_are_404(admins: Client):
    assert admins.get("/agents/nobody").status_code == 404
    assert admins.get("/connections/nowhere").status_code == 404


def seen_in(html: str) -> str:
    """What a page says of the settings it was rendered from."""
    return html.split('name="seen" value="')[1].split('"', maxsplit=1)[0]


def test_an_outdated_page_does_not_undo_a_change_of_another_window(admins: Client, agent: Agent):
    old = seen_in(page(admins, "/agents/writer"))
    page(admins, "/agents/writer", **given_to(agent, max_tokens=77, seen=old))
    told = page(admins, "/agents/writer", 422, **given_to(agent, system_prompt="Be brief.", seen=old))
    assert "Max tokens per call is now “77”. Nothing was saved." in told
    agent.refresh_from_db()
    assert (agent.max_tokens, agent.system_prompt) == (77, "")
    page(admins, "/agents/writer", **given_to(agent, system_prompt="Be brief.", seen=seen_in(told)))
    agent.refresh_from_db()
    assert agent.system_prompt == "Be brief.", "sent again by one who has read it"


@pytest.mark.parametrize("which", ["agents", "connections"])
def test_an_outdated_page_of_a_renamed_object_gets_the_new_name_and_keeps_the_input(
    admins: Client, agent: Agent, which: str
):
    page(admins, "/connections/+new", **CONNECTION)
    name, given = ("writer", given_to(agent)) if which == "agents" else ("far", CONNECTION)
    seen = seen_in(page(admins, f"/{which}/{name}"))
    page(admins, f"/{which}/{name}", **{**given, "name": "renamed", "seen": seen})
    told = page(admins, f"/{which}/{name}", 422, **{**given, "why": "typed at length", "seen": seen})
    assert "is now “renamed”. Nothing was saved." in told
    assert 'value="typed at length"' in told
    assert f'action="/{which}/renamed"' in told


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("envelope_schema", '{"type": ', "Envelope schema must be valid JSON: it ends too early (line 1, column 9)."),
        ("envelope_schema", "[]", "The schema must be an object"),
        ("breakpoints", "{}", "Breakpoints must be a list"),
        ("breakpoints", '"x"', "Breakpoints must be a list"),
    ],
)
def test_json_is_never_dropped_and_stays_as_typed(admins: Client, agent: Agent, field: str, typed: str, words: str):
    told = page(admins, "/agents/writer", 422, **given_to(agent, **{field: typed}))
    assert words in told
    assert f">\n{typed}</textarea>" in told


def test_one_of_two_faults_of_a_field_has_the_id_the_field_references(admins: Client, agent: Agent):
    told = page(admins, "/agents/writer", 422, **given_to(agent, max_tokens=10**20))
    assert told.count('id="id_max_tokens_error"') == 1


def test_an_outdated_connection_page_does_not_undo_another_change(admins: Client):
    page(admins, "/connections/+new", **CONNECTION)
    old = seen_in(page(admins, "/connections/far"))
    page(admins, "/connections/far", **{**CONNECTION, "requests_per_minute": 5, "seen": old})
    told = page(admins, "/connections/far", 422, **{**CONNECTION, "max_output_tokens": 900, "seen": old})
    assert " is now “5”. Nothing was saved." in told
    assert Connection.objects.get(name="far").max_output_tokens is None


def test_an_outdated_admin_page_does_not_undo_another_change(admins: Client, agent: Agent):
    address = f"/admin/agents/agent/{agent.pk}/change/"
    old = seen_in(admins.get(address).content.decode())
    Agent.objects.filter(pk=agent.pk).update(max_tokens=77)
    with CaptureQueriesContext(connection) as asked:
        told = admins.post(address, given_to(agent, system_prompt="Be brief.", seen=old)).content.decode()
    assert "Max tokens per call is now “77”. Nothing was saved." in told
    assert any("FOR UPDATE" in each["sql"] for each in asked), "of two windows the second waits for the first"
    agent.refresh_from_db()
    assert agent.system_prompt == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "“yes”"),
        (False, "“no”"),
        (0, "“0”"),
        (90_000, "“90,000”"),
        (None, "empty"),
        ([], "empty"),
        (["read_file", "add"], "“read_file, add”"),
        ([{"state": "request_model"}], "“[{&quot;state&quot;: &quot;request_model&quot;}]”"),
        ({"type": "object"}, "“{&quot;type&quot;: &quot;object&quot;}”"),
    ],
)
def test_values_saved_by_another_window_are_shown_as_in_the_form(value: object, words: str):
    assert escape(_shown(value)) == words


def test_a_page_opened_after_the_last_change_can_be_saved(admins: Client, agent: Agent):
    for tokens in (60, 61):
        page(
            admins, "/agents/writer", **given_to(agent, max_tokens=tokens, seen=seen_in(page(admins, "/agents/writer")))
        )
    agent.refresh_from_db()
    assert agent.max_tokens == 61
