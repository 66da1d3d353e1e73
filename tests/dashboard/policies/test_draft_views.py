"""The form of a policy as a page: what it saves is a draft."""

from html import unescape

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from dashboard.accounts.models import User
from dashboard.agents import selectors
from dashboard.agents.models import Agent, PolicyVersion, Project
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.audit_log import configuration_trail
from dashboard.policies.policy_creation import policy_create

pytestmark = pytest.mark.django_db
SAID = {"recovery": ["markdown-fence", "brace-walker"], "why": "Answers were cut."}


@pytest.fixture
def admins(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def agent(project: Project) -> Agent:
    near = connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")
    return agent_create(project=project, name="writer", connection=near, model="m", max_tokens=50)


def page(client: Client, address: str, status: int = 200, **data: object) -> str:
    answer = client.post(address, data, follow=True) if data else client.get(address)
    assert answer.status_code == status
    return unescape(answer.content.decode())


def test_a_limit_is_always_changed_in_a_draft_and_activated_in_a_separate_step(admins: Client, project: Project):
    wide = policy_create(project=project, name="wide", limits={"max_continuations": 5})
    address = f"/policies/{wide.policy_id}/change"
    html = page(admins, address)
    assert "The fields start from v1, which is active." in html
    assert 'id="run-backtest"' in html
    given = {**SAID, "max_continuations": 9, "start": 1, "counted": 1, "counts": "now", "name": "other"}
    told = page(admins, address, **given)
    assert "Draft v2 of “wide” saved without a backtest. It is inactive until you activate it." in told
    draft = PolicyVersion.objects.get(version=2)
    assert (draft.limits, draft.why, draft.policy.name) == ({"max_continuations": 9}, "Answers were cut.", "wide")
    assert selectors.policy_version_active(policy=wide.policy) == wide
    assert "No change: the fields are those of v2" in page(admins, address, **{**given, "start": 2})
    assert "wide v2 is now active." in page(admins, f"/policies/versions/{draft.pk}/activate", why="As tried.")


def test_the_second_of_two_windows_is_told_that_another_draft_was_saved(admins: Client, project: Project):
    wide = policy_create(project=project, name="wide", limits={"max_continuations": 5})
    address = f"/policies/{wide.policy_id}/change"
    assert 'name="newest" value="1"' in page(admins, address)
    opened = {**SAID, "start": 1, "counted": 1, "newest": 1}
    assert "While the form was open" not in page(admins, address, **opened, max_continuations=6)
    assert 'name="newest" value="1"' in page(admins, address, 422, **opened, max_steps=0), "still not told"
    told = page(admins, address, **opened, max_continuations=5, max_steps=4)
    assert "While the form was open, v2 was saved. What you saved starts from v1." in told


def test_an_agent_without_a_policy_gets_the_one_created_for_it(admins: Client, project: Project, agent: Agent):
    page_of_agent = page(admins, "/agents/writer")
    assert 'href="/policies/new?agent=writer#id_max_continuations"' in page_of_agent
    html = page(admins, "/policies/new?agent=writer")
    assert 'name="name" value="writer"' in html
    page(admins, "/policies/new?agent=writer", name="writer", max_steps=4, **SAID)
    agent.refresh_from_db()
    assert agent.policy is not None
    assert selectors.policy_version_active(policy=agent.policy) is None
    assert "only drafts: built-in defaults apply" in page(admins, "/agents/writer")
    newest = configuration_trail(project, (Agent,))[0]
    assert (newest.by, newest.why) == ("root", "Answers were cut.")
    page(admins, "/policies/new?agent=writer", name="second", **SAID)
    agent.refresh_from_db()
    assert agent.policy.name == "writer", "an agent with a policy keeps it"


def test_a_fault_is_reported_at_the_field_and_the_input_is_kept(admins: Client):
    html = page(admins, "/policies/new", 422, name="wide", max_continuations="many", recovery=SAID["recovery"])
    told = "Max continuations must be a whole number from 0 to 1,000."
    assert f'id="id_max_continuations_error" role="alert"> <p class="error">{told}</p>' in " ".join(html.split())
    assert 'value="many"' in html
    assert 'id="id_why_error"' in html
    assert not PolicyVersion.objects.exists()


def test_a_user_who_may_not_change_policies_is_told_so(project: Project):
    wide = policy_create(project=project, name="wide")
    client, user = Client(), User.objects.create_user("olga")
    user.groups.add(Group.objects.get(name="operator"))
    client.force_login(user)
    for address in ("/policies/new", f"/policies/{wide.policy_id}/change"):
        assert "Only an administrator may change policies." in page(client, address)
        assert client.post(address, SAID).status_code == 403
