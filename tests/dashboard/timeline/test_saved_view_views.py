import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from dashboard.accounts.models import User
from dashboard.timeline.models import SavedView
from tests.dashboard.pages import compact, page

pytestmark = pytest.mark.django_db(transaction=True)

GIVEN = {"name": "Cut off", "query": "model_stop_reason=max_tokens&status=partial"}


@pytest.fixture
def view(browser: Client) -> SavedView:
    browser.post("/timeline/views", GIVEN)
    return SavedView.objects.get()


@pytest.fixture
def other(db: None) -> Client:
    client, user = Client(), User.objects.create_user("other")
    user.user_permissions.add(Permission.objects.get(codename="keep_view"))
    client.force_login(user)
    return client


def test_filters_are_saved_under_a_name_and_listed_in_the_menu(browser: Client, view: SavedView):
    assert (view.name, view.query, view.shared) == ("Cut off", GIVEN["query"], False)
    assert 'href="/?model_stop_reason=max_tokens&amp;status=partial" data-filters>Cut off</a>' in page(browser, "/")


def test_htmx_gets_the_menu_with_the_result(browser: Client):
    response = browser.post("/timeline/views", GIVEN, headers={"HX-Request": "true"})
    html = compact(response.content.decode())
    assert html.strip().startswith('<details class="menu" id="views" open>')
    assert "“Cut off” is saved." in html


@pytest.mark.parametrize(
    ("given", "words"), [({"name": " "}, "Name is required."), ({"query": "status=x"}, "Status must be one of")]
)
def test_faults_are_reported(browser: Client, given: dict[str, str], words: str):
    html = browser.post("/timeline/views", {**GIVEN, **given}, headers={"HX-Request": "true"}).content.decode()
    assert words in html
    assert not SavedView.objects.exists()


def test_others_see_only_shared_views_and_cannot_change_them(browser: Client, other: Client, view: SavedView):
    assert "Cut off" not in page(other, "/timeline/views")
    assert other.post(f"/timeline/views/{view.pk}/delete").status_code == 404
    browser.post(f"/timeline/views/{view.pk}/rename", {"name": "All cut", "shared": "on"})
    assert "operator's" in page(other, "/timeline/views")
    for action in ("delete", "rename"):
        response = other.post(f"/timeline/views/{view.pk}/{action}", {"name": "Mine"}, follow=True)
        assert "only they can" in response.content.decode()
    assert SavedView.objects.get().name == "All cut"


def test_view_names_are_unique_per_user(browser: Client, view: SavedView):
    browser.post("/timeline/views", {**GIVEN, "name": "Second"})
    response = browser.post(f"/timeline/views/{view.pk}/rename", {"name": "Second"}, follow=True)
    assert "another view “Second” already" in response.content.decode()


def test_a_deleted_view_is_gone(browser: Client, view: SavedView):
    browser.post(f"/timeline/views/{view.pk}/delete")
    assert "No saved views" in page(browser, "/timeline/views")


def test_a_browser_can_open_with_a_view_and_still_links_to_all_turns(browser: Client, view: SavedView):
    browser.post(f"/timeline/views/{view.pk}/opens", {"opens": "1"})
    response = browser.get("/")
    assert (response.status_code, response["Location"]) == (302, f"/?{view.query}")
    assert 'href="/?view=all"' in page(browser, f"/?{view.query}")
    page(browser, "/?view=all")
    browser.post(f"/timeline/views/{view.pk}/opens")
    page(browser, "/")


def test_a_deleted_view_opens_nothing(browser: Client, view: SavedView):
    browser.post("/timeline/views", {**GIVEN, "opens": "on"})
    browser.post(f"/timeline/views/{view.pk}/delete")
    page(browser, "/")
