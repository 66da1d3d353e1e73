"""A view is filters under a name."""

import pytest
from django.core.exceptions import ValidationError

from dashboard.accounts.models import User
from dashboard.agents import selectors as agents
from dashboard.timeline import saved_views as module
from dashboard.timeline.models import SavedView
from dashboard.timeline.saved_views import saved_view_delete, saved_view_save, saved_views

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada")


@pytest.fixture
def bob() -> User:
    return User.objects.create(username="bob")


def save(owner: User, name: str = "Cut off", query: str = "status=partial", *, shared: bool = False) -> SavedView:
    return saved_view_save(project=agents.project_default(), owner=owner, name=name, query=query, shared=shared)


def seen_by(user: User) -> list[str]:
    return [view.name for view in saved_views(project=agents.project_default(), user=user)]


def test_a_view_stores_the_filters_of_a_url_and_not_the_page(ada: User):
    assert save(ada, query="?status=partial&status=failed&cursor=abc&q=+a++b&has=").query == (
        "status=partial&status=failed&q=a++b"
    )


def test_own_and_shared_views_are_visible(ada: User, bob: User):
    save(ada, "mine")
    save(bob, "shared", shared=True)
    save(bob, "private")
    assert seen_by(ada) == ["mine", "shared"]


def test_saving_under_the_same_name_replaces_only_ones_own_view(ada: User, bob: User):
    theirs = save(bob)
    first = save(ada)
    assert save(ada, name=" Cut off ", query="status=failed", shared=True).id == first.id
    theirs.refresh_from_db()
    first.refresh_from_db()
    assert (first.query, first.shared, theirs.query) == ("status=failed", True, "status=partial")


@pytest.mark.parametrize(
    ("name", "query", "field"),
    [
        ("", "", "name"),
        ("x" * 81, "", "name"),
        ("x", "status=gone", "query"),
        ("x", "stauts=failed", "query"),
        ("x", "tokens_from=9&tokens_to=1", "query"),
    ],
)
def test_faults_are_reported_by_field(ada: User, name: str, query: str, field: str):
    with pytest.raises(ValidationError) as error:
        save(ada, name, query)
    assert list(error.value.message_dict) == [field]


def test_the_number_of_views_is_limited(ada: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_VIEWS", 1)
    save(ada)
    save(ada, query="status=failed")
    with pytest.raises(ValidationError, match="Delete one"):
        save(ada, "another")


def test_only_its_owner_can_delete_a_view(ada: User, bob: User):
    view = save(ada, shared=True)
    with pytest.raises(ValidationError, match="is ada's"):
        saved_view_delete(view=view, by=bob)
    saved_view_delete(view=view, by=ada)
    assert seen_by(ada) == []
