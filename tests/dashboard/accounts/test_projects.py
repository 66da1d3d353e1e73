"""Projects: who may enter which, with which role, and what changes when a second one is made."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.utils import timezone

from dashboard.accounts import project_services, services
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.audit.selectors import Filters, entries, with_changes
from dashboard.accounts.models import ApiToken, Membership, User
from dashboard.accounts.projects import projects_of
from dashboard.accounts.roles import CHANGE_MEMBERS, ERASE, EXPORT, MAKE_PROJECT, START, Role
from dashboard.agents.current_project import working_in
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.configuration.project_views import LISTED
from dashboard.exports.telemetry.models import Queued
from dashboard.exports.webhooks.delivery_creation import announce_all
from dashboard.exports.webhooks.models import Delivery, DroppedEvents
from dashboard.gateway.selectors import keys_of
from dashboard.gateway.services import key_create
from dashboard.runtime.database_setup import seed
from dashboard.tour.selectors import agents_on_simulator, simulator_of
from dashboard.turns.models import Turn
from tests.dashboard.accounts.conftest import csrf_of
from tests.dashboard.accounts.walking import browser_of, made_world, program_of, user_of
from tests.dashboard.pages import compact

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("contexts")]


@pytest.fixture
def owner() -> User:
    services.one_time_code_create()
    return User.objects.get(username=services.OPERATOR)


@pytest.fixture
def beside(owner: User) -> Project:
    return project_services.project_create(name="beside", by=owner)


def role_of(user: User, project: Project) -> str | None:
    return Membership.objects.filter(user=user, project=project).values_list("role", flat=True).first()


def fresh(user: User) -> User:
    return User.objects.get(pk=user.pk)


def test_the_groups_of_a_user_determine_the_role_in_default():
    user, default = user_of("nothing"), project_default()
    assert role_of(user, default) is None
    user.groups.add(Group.objects.get(name="operator"), Group.objects.get(name="watcher"))
    assert role_of(user, default) == "operator"
    user.groups.remove(Group.objects.get(name="operator"))
    assert role_of(user, default) == "watcher"
    user.groups.clear()
    assert role_of(user, default) == ""


def test_the_only_project_includes_everybody_who_remain_members_when_a_second_is_created(owner: User):
    early = user_of("nothing")
    assert projects_of(early) == [project_default()]
    project_services.project_create(name="beside", by=owner)
    late = user_of("nothing")
    assert projects_of(early) == [project_default()]
    assert projects_of(late) == []
    assert [project.name for project in projects_of(owner)] == ["beside", "default"]


def test_a_role_applies_only_in_its_project(beside: Project):
    user = user_of(Role.WATCHER, project_default())
    Membership.objects.create(project=beside, user=user, role="admin")
    with working_in(beside):
        assert fresh(user).has_perms([START, ERASE, CHANGE_MEMBERS])
        assert fresh(user).has_module_perms("agents")
        assert not fresh(user).has_perm(MAKE_PROJECT)
    with working_in(project_default()):
        assert fresh(user).has_perm(EXPORT)
        assert not fresh(user).has_perm(START)


def test_django_permissions_apply_only_in_default(beside: Project):
    user = user_of(Role.ADMIN, project_default())
    Membership.objects.create(project=beside, user=user, role="watcher")
    with working_in(beside):
        assert not fresh(user).has_perm(START)


def test_only_superusers_create_projects(owner: User):
    admin = browser_of(user_of(Role.ADMIN))
    assert admin.post("/projects/", {"name": "beside"}).status_code == 403
    assert browser_of(owner).post("/projects/", {"name": "beside"}).status_code == 302
    assert Project.objects.filter(name="beside").exists()


@pytest.mark.parametrize(("name", "words"), [("default", "There is a project"), ("", "Name is required.")])
def test_a_project_needs_a_unique_name(owner: User, name: str, words: str):
    project_default()
    response = browser_of(owner).post("/projects/", {"name": name})
    assert response.status_code == 422
    assert words in response.content.decode()


def opened(user: User, project: Project) -> Client:
    browser = browser_of(user)
    assert browser.post("/projects/switch/", {"project": str(project.pk)}).status_code == 302
    return browser


def test_an_admin_of_a_project_manages_its_members(beside: Project):
    admin, other = user_of(Role.ADMIN, beside), user_of("nothing")
    browser = browser_of(admin)
    browser.post("/projects/members/add/", {"username": other.username, "role": "watcher"})
    assert role_of(other, beside) == "watcher"
    member = Membership.objects.get(user=other, project=beside)
    browser.post(f"/projects/members/{member.pk}/", {"role": "operator"})
    assert role_of(other, beside) == "operator"
    browser.post(f"/projects/members/{member.pk}/remove/")
    assert role_of(other, beside) is None


def test_only_superusers_rename_a_project(owner: User, beside: Project):
    admin = browser_of(user_of(Role.ADMIN, beside))
    assert "Rename the project" not in admin.get("/projects/members/").content.decode()
    assert admin.post("/projects/rename/", {"name": "renamed"}).status_code == 403
    opened(owner, beside).post("/projects/rename/", {"name": "renamed"})
    assert Project.objects.get(pk=beside.pk).name == "renamed"


def test_a_former_superuser_can_be_given_a_role(owner: User):
    user = user_of(Role.OPERATOR)
    Membership.objects.filter(user=user).delete()
    browser_of(owner).post("/projects/members/add/", {"username": user.username, "role": "operator"})
    assert role_of(user, project_default()) == "operator"


def test_nobody_changes_or_removes_a_member_with_more_permissions(beside: Project):
    change = Group.objects.get(name="admin").permissions.filter(codename="change_membership")
    Group.objects.get(name="operator").permissions.add(*change)
    browser, admin = browser_of(user_of(Role.OPERATOR, beside)), user_of(Role.ADMIN, beside)
    member = Membership.objects.get(user=admin, project=beside)
    browser.post(f"/projects/members/{member.pk}/", {"role": "watcher"})
    browser.post(f"/projects/members/{member.pk}/remove/")
    assert role_of(admin, beside) == "admin"
    assert "has permissions that you do not have" in compact(browser.get("/projects/members/").content.decode())


@pytest.mark.parametrize("role", [Role.WATCHER, Role.OPERATOR])
def test_watchers_and_operators_cannot_add_members(beside: Project, role: Role):
    browser, other = browser_of(user_of(role, beside)), user_of("nothing")
    assert browser.get("/projects/members/").status_code == 200
    assert browser.post("/projects/members/add/", {"username": other.username, "role": "watcher"}).status_code == 403


def test_a_member_of_default_is_also_in_the_group_of_the_role(owner: User):
    user = user_of("nothing")
    browser_of(owner).post("/projects/members/add/", {"username": user.username, "role": "operator"})
    assert [group.name for group in user.groups.all()] == ["operator"]
    member = Membership.objects.get(user=user)
    browser_of(owner).post(f"/projects/members/{member.pk}/", {"role": "watcher"})
    assert [group.name for group in user.groups.all()] == ["watcher"]
    project_services.project_create(name="beside", by=owner)
    browser_of(owner).post(f"/projects/members/{member.pk}/remove/")
    assert not user.groups.exists()
    assert role_of(user, project_default()) is None


def test_nobody_can_be_removed_from_the_only_project(owner: User):
    member = Membership.objects.get(user=user_of(Role.WATCHER))
    browser = browser_of(owner)
    assert f"/projects/members/{member.pk}/remove/" not in compact(browser.get("/projects/members/").content.decode())
    browser.post(f"/projects/members/{member.pk}/remove/")
    assert "Deactivate the user instead" in compact(browser.get("/projects/members/").content.decode())
    assert Membership.objects.filter(pk=member.pk).exists()


def test_a_removed_member_is_not_added_again_when_projects_are_next_enabled(owner: User):
    user, beside = user_of(Role.WATCHER), project_services.project_create(name="beside", by=owner)
    project_services.member_remove(member=Membership.objects.get(user=user, project=project_default()), by=owner)
    beside.delete()
    project_services.project_create(name="other", by=owner)
    assert role_of(user, project_default()) is None


@pytest.mark.parametrize(("revoke", "left"), [({}, 1), ({"revoke_keys": "on"}, 0)])
def test_removing_a_member_offers_to_revoke_their_keys(beside: Project, revoke: dict[str, str], left: int):
    user, admin = user_of(Role.OPERATOR, beside), user_of(Role.ADMIN, beside)
    for project in (beside, project_default()):
        key_create(project=project, by=user, name="ci")
    browser, member = browser_of(admin), Membership.objects.get(user=user, project=beside)
    assert "Revoke <b>1</b>\u00a0gateway key too" in compact(browser.get("/projects/members/").content.decode())
    browser.post(f"/projects/members/{member.pk}/remove/", revoke)
    assert role_of(user, beside) is None
    assert keys_of(user).filter(project=beside).count() == left
    assert keys_of(user).filter(project=project_default()).count() == 1


def test_a_user_without_a_project_has_no_permissions_and_creates_no_token(beside: Project):
    user = user_of(Role.ADMIN)
    Membership.objects.filter(user=user).delete()
    browser = browser_of(user)
    page = browser.get("/account/").content.decode()
    assert "Open the audit log" not in page
    assert "you cannot create a token" in page
    sent = {"name": "ci", "lifetime": "never", "scopes": ["read"]}
    assert browser.post("/account/tokens/", sent).status_code == 403
    assert not ApiToken.objects.filter(user=user).exists()


def test_default_cannot_be_renamed(owner: User):
    response = browser_of(owner).post("/projects/rename/", {"name": "other"})
    assert response.status_code == 422
    assert "cannot be renamed" in response.content.decode()


def test_nobody_grants_a_role_with_more_permissions_than_they_have(beside: Project):
    Group.objects.get(name="operator").permissions.add(*Group.objects.get(name="admin").permissions.filter(
        codename="change_membership"
    ))  # fmt: skip
    browser, other = browser_of(user_of(Role.OPERATOR, beside)), user_of("nothing")
    response = browser.post("/projects/members/add/", {"username": other.username, "role": "admin"})
    assert response.status_code == 422
    assert role_of(other, beside) is None


def test_a_user_without_a_project_is_told_so_and_keeps_the_account(beside: Project):
    browser = browser_of(user_of("nothing"))
    response = browser.get("/")
    assert response.status_code == 403
    assert "not a member of any project" in response.content.decode()
    assert browser.get("/account/").status_code == 200
    assert browser.post("/sign-out/").status_code == 302


def test_the_switcher_is_shown_to_members_of_several_projects(beside: Project):
    one = browser_of(user_of(Role.WATCHER, beside))
    assert "projects-panel" not in one.get("/account/").content.decode()
    several = user_of(Role.WATCHER, project_default())
    Membership.objects.create(project=beside, user=several, role="watcher")
    assert "projects-panel" in browser_of(several).get("/account/").content.decode()


def test_a_session_stays_in_the_selected_project(beside: Project):
    user = user_of(Role.WATCHER, project_default())
    Membership.objects.create(project=beside, user=user, role="watcher")
    made_world()
    made_world(beside, name="elsewhere")
    assert [agent["name"] for agent in browser_of(user).get("/api/v1/agents").json()] == ["walked"]
    assert [agent["name"] for agent in opened(user, beside).get("/api/v1/agents").json()] == ["elsewhere"]


def test_a_link_into_another_of_the_users_projects_offers_to_open_it(beside: Project):
    user = user_of(Role.WATCHER, project_default())
    address = made_world(beside, name="elsewhere").address("turns/<uuid:turn_id>/")
    assert "belongs to the project" not in browser_of(user).get(address).content.decode()
    Membership.objects.create(project=beside, user=user, role="watcher")
    browser = browser_of(user)
    response = browser.get(address)
    assert response.status_code == 404
    assert "belongs to the project <b>beside</b>" in response.content.decode()
    sent = {"project": str(beside.pk), "next": address}
    assert browser.post("/projects/switch/", sent)["Location"] == address
    assert browser.get(address).status_code == 200


def test_forms_loaded_before_a_switch_change_nothing(beside: Project):
    user, added = user_of(Role.ADMIN, project_default()), {"username": user_of("nothing").username, "role": "watcher"}
    Membership.objects.create(project=beside, user=user, role="admin")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    stale = csrf_of(browser)
    sent = {"project": str(beside.pk), "csrfmiddlewaretoken": stale}
    assert browser.post("/projects/switch/", sent).status_code == 302
    response = browser.post("/projects/members/add/", {**added, "csrfmiddlewaretoken": stale})
    assert response.status_code == 403
    assert "before you switched to another project" in response.content.decode()
    by_script = browser.post("/projects/members/add/", added, headers={"X-CSRFToken": stale})
    assert by_script.status_code == 403
    anew = browser.post("/projects/members/add/", {**added, "csrfmiddlewaretoken": csrf_of(browser)})
    assert anew.status_code == 302


def test_forms_of_a_project_the_user_was_removed_from_change_nothing_in_another(beside: Project):
    user, added = user_of(Role.ADMIN, project_default()), {"username": user_of("nothing").username, "role": "watcher"}
    Membership.objects.create(project=beside, user=user, role="admin")
    browser = browser_of(user)
    assert browser.get("/projects/members/").context["project"] == project_default()
    Membership.objects.filter(project=project_default(), user=user).delete()
    response = browser.post("/projects/members/add/", added)
    assert response.status_code == 409
    assert "no longer a member" in response.content.decode()
    assert browser.post("/projects/members/add/", added).status_code == 302


def test_a_new_project_becomes_the_current_one(owner: User):
    browser = browser_of(owner)
    assert browser.post("/projects/", {"name": "beside"})["Location"] == "/projects/members/"
    assert browser.get("/projects/members/").context["project"].name == "beside"


def test_a_new_project_has_the_simulator_and_its_agents_like_default(owner: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    seed(simulator_url="http://127.0.0.1:1/v1")
    browser_of(owner).post("/projects/", {"name": "beside"})
    beside = Project.objects.get(name="beside")
    assert simulator_of(beside).base_url == "http://127.0.0.1:1/v1"
    assert agents_on_simulator(beside).keys() == agents_on_simulator(project_default()).keys() != set()
    seed(simulator_url="http://127.0.0.1:2/v1")
    assert simulator_of(beside).base_url == "http://127.0.0.1:2/v1"


def test_a_share_link_opens_its_turn_in_any_project(beside: Project):
    world = made_world(beside, name="elsewhere", said="Said elsewhere")
    page = Client().get(world.share).content.decode()
    assert "Said elsewhere" in page
    assert "walked" not in page


def test_memberships_are_deleted_with_their_user_even_by_an_earlier_release(beside: Project):
    user = user_of("nothing", beside)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_user WHERE id = %s", [user.pk])
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert not Membership.objects.filter(user_id=user.pk).exists()


def test_nobody_opens_a_project_they_are_not_a_member_of(beside: Project):
    browser = browser_of(user_of(Role.WATCHER, project_default()))
    assert browser.post("/projects/switch/", {"project": str(beside.pk)}).status_code == 404


def test_a_token_works_in_the_project_it_was_created_in(beside: Project):
    user = user_of(Role.OPERATOR, project_default())
    Membership.objects.create(project=beside, user=user, role="operator")
    made_world(beside, name="elsewhere")
    opened(user, beside).post("/account/tokens/", {"name": "ci", "lifetime": "never", "scopes": ["read"]})
    token = ApiToken.objects.get(name="ci")
    assert token.project == beside
    with working_in(beside):
        secret = services.api_token_create("other", user=user)[1]
    program = program_of(secret)
    assert [agent["name"] for agent in program.get("/api/v1/agents").json()] == ["elsewhere"]
    (project,) = program.get("/api/v1/projects").json()
    assert (project["name"], project["role"], project["current"]) == ("beside", "operator", True)
    Membership.objects.filter(user=user, project=beside).delete()
    response = program.get("/api/v1/agents")
    assert response.status_code == 403
    assert "its user may not enter" in response.json()["detail"]


def test_the_api_lists_the_members(beside: Project):
    user = user_of(Role.ADMIN, beside)
    with working_in(beside):
        secret = services.api_token_create("ci", user=user)[1]
    (member,) = program_of(secret).get("/api/v1/projects/members").json()
    assert (member["username"], member["role"]) == (user.username, "admin")


@pytest.mark.parametrize("address", ["/admin/", "/metrics", "/api/v1/simulator/scripts"])
def test_pages_about_all_projects_are_for_superusers_once_there_are_several(owner: User, address: str):
    admin = browser_of(user_of(Role.ADMIN))
    alone = admin.get(address).status_code
    project_services.project_create(name="beside", by=owner)
    assert alone != 403
    assert admin.get(address).status_code == 403
    assert browser_of(owner).get(address).status_code == alone


def test_the_audit_log_records_whose_role_was_changed_in_which_project(beside: Project):
    admin, other = user_of(Role.ADMIN, beside), user_of("nothing")
    browser_of(admin).post("/projects/members/add/", {"username": other.username, "role": "watcher"})
    ((entry, changes),) = with_changes(list(entries(Filters(action="projects/members"), project=beside)))
    assert (entry.by, entry.project_id) == (admin.username, beside.pk)
    assert [(change.table, change.how) for change in changes] == [("accounts_membershipchange", "made")]
    assert not entries(Filters(action="projects/members"), project=project_default())


def test_entries_without_a_project_are_for_superusers_once_there_are_several(owner: User):
    made = Entry.objects.create(began_at="2026-01-01T00:00Z", at="2026-01-01T00:00Z", by="x", via="command", action="x")
    admin = browser_of(user_of(Role.ADMIN))

    def shown(browser: Client) -> list[bool]:
        told = [one["id"] for one in browser.get("/api/v1/audit?limit=100").json()["items"]]
        return [str(made.id) in told, made in [row[0] for row in browser.get("/audit/").context["rows"]]]

    assert shown(admin) == [True, True]
    project_services.project_create(name="beside", by=owner)
    assert shown(admin) == [False, False]
    assert shown(browser_of(owner)) == [True, True]


def test_a_change_in_the_admin_is_an_entry_without_a_project(owner: User, beside: Project):
    browser_of(owner).post("/admin/logout/")
    assert Entry.objects.get(action="admin/logout").project_id is None


def test_dropped_events_of_all_projects_are_reported_to_superusers(owner: User):
    DroppedEvents.objects.create(events=7, at=timezone.now())
    admin = browser_of(user_of(Role.ADMIN))
    assert "Dropped events: 7" in compact(admin.get("/webhooks/").content.decode())
    project_services.project_create(name="beside", by=owner)
    assert "Dropped events" not in admin.get("/webhooks/").content.decode()
    assert "Dropped events: 7" in compact(browser_of(owner).get("/webhooks/").content.decode())


def test_the_end_of_a_turn_is_sent_to_the_webhooks_and_destinations_of_its_project(beside: Project):
    world, other = made_world(beside, name="elsewhere"), made_world(name="here")
    turn = Turn.objects.filter(id=world.ids["turn_id"])
    Delivery.objects.all().delete()
    turn.update(status="running")
    turn.update(status="completed")
    announce_all()
    told = set(Delivery.objects.filter(turn__in=turn).values_list("webhook__project__name", flat=True))
    sent = set(Queued.objects.filter(turn_id=world.ids["turn_id"]).values_list("destination__project__name", flat=True))
    assert (told, sent) == ({"beside"}, {"beside"})
    assert other.project == project_default()


def test_the_project_page_lists_its_own_objects_and_none_of_another(beside: Project):
    made_world(beside, name="zebra")
    made_world(name="quagga")
    answer = browser_of(user_of("watcher", project=beside)).get("/projects/members/").content.decode()
    shown = answer[answer.index("What belongs to this project") :]
    kinds = ("Connections", "Agents", "Policies", "MCP servers", "Webhooks", "Destinations")
    assert [kind for kind in kinds if kind not in shown] == []
    assert "mcp-zebra" in shown
    assert "quagga" not in shown


def test_every_named_object_of_a_project_is_on_its_page_or_excluded_on_purpose():
    left_out = {"accounts.ApiToken", "gateway.GatewayKey", "timeline.SavedView"}
    fields = ((model, {field.name: field for field in model._meta.fields}) for model in apps.get_models())
    named = {
        model._meta.label
        for model, by_name in fields
        if "name" in by_name and "project" in by_name and not model.__name__.endswith("Change")
    }
    assert named - left_out == set(LISTED)
