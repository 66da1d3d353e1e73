"""Names are one line: what pages would show as a box is refused where it is typed."""

import pytest
from django.test import Client

from tests.dashboard.accounts.walking import World, browser_of, made_world

pytestmark = pytest.mark.django_db
WORDS = "must be one line without control characters."


@pytest.fixture
def world() -> World:
    return made_world()


@pytest.mark.parametrize(
    ("address", "given"),
    [
        ("/account/tokens/", {"lifetime": "never", "scopes": "read"}),
        ("/gateway/keys", {"lifetime": "90"}),
        ("/webhooks/", {"url": "https://example.com/hook", "events": "turn.ended"}),
        (
            "/metrics-board/alerts/new",
            {"metric": "truncation_rate", "condition": "above", "number": "5", "window_minutes": "15", "save": "1"},
        ),
    ],
)
@pytest.mark.parametrize("name", ["a\x01b", "a\nb", "a\u2028b", "a\x9bb"])
def test_a_name_with_a_control_character_is_refused(world: World, address: str, given: dict[str, str], name: str):
    answer = browser_of(world.owner).post(address, {**given, "name": name})
    assert (answer.status_code, f"Name {WORDS}" in answer.content.decode()) == (422, True)


@pytest.mark.parametrize("name", ["Größe 🙂👩‍👩‍👧", "שלום", "a\u00a0b"])
def test_any_other_letter_may_be_in_a_name(world: World, name: str):
    client: Client = browser_of(world.owner)
    answer = client.post("/account/tokens/", {"name": name, "lifetime": "never", "scopes": "read"})
    assert answer.status_code == 200
