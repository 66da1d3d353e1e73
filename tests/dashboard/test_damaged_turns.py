"""A turn whose rows were damaged: no address that shows it fails, and each says which turn it is and what is wrong."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.accounts.models import User
from dashboard.exports.share_links.services import link_create
from dashboard.replay import experience
from dashboard.turns.models import Turn
from dashboard.turns.verification import verification_of
from tests.dashboard.driving import Play
from tests.dashboard.pages import compact
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)

#: What was done to the rows of the turn %(id)s.
DAMAGES: Mapping[str, str] = {
    "event": """UPDATE turns_record SET event = '{"type": "nonsense"}', packed = NULL WHERE turn_id = %(id)s AND seq = 2""",  # noqa: E501 - one statement
    "order": """UPDATE turns_record SET event = '{"type": "woke_up", "at": 1.0}', packed = NULL WHERE turn_id = %(id)s AND seq = 2""",  # noqa: E501 - one statement
    "no object": "UPDATE turns_record SET event = '[1]', packed = NULL WHERE turn_id = %(id)s AND seq = 2",
    "null": "UPDATE turns_record SET event = 'null', packed = NULL WHERE turn_id = %(id)s",
    "packed": "UPDATE turns_record SET packed = '\\x00ff' WHERE turn_id = %(id)s",
    "transitions": """UPDATE turns_record SET transitions = '[{"x": 1}]', packed = NULL WHERE turn_id = %(id)s""",
    "observed": """UPDATE turns_record SET observed = '[5]', packed = NULL WHERE turn_id = %(id)s""",
    "gap": "DELETE FROM turns_record WHERE turn_id = %(id)s AND seq = 2",
    "no record": "DELETE FROM turns_record WHERE turn_id = %(id)s",
    "no beginning": "DELETE FROM turns_record WHERE turn_id = %(id)s AND seq = 1",
    "policy": "UPDATE turns_turn SET policy = '[1]' WHERE id = %(id)s",
    "policy's node": "UPDATE turns_turn SET policy = jsonb_set(policy, '{0}', to_jsonb(gen_random_uuid()::text)) WHERE id = %(id)s",  # noqa: E501 - one statement
    "sources": "UPDATE turns_turn SET policy_sources = '[1]' WHERE id = %(id)s",
    "setup": "UPDATE turns_turn SET setup = '[1]' WHERE id = %(id)s",
    "envelope": """UPDATE turns_turn SET breakpoints = '{"a": 1}', lint = '5', overrides = '5' WHERE id = %(id)s""",
    "base": """UPDATE turns_turn SET base_snapshot = '{"x": 1}' WHERE id = %(id)s""",
    "nodes": "DELETE FROM turns_node",
    "bytes of nodes": "UPDATE turns_node SET packed = '\\x00ff'",
    "checkpoint": "INSERT INTO turns_checkpoint (turn_id, seq, snapshot, core_version) VALUES (%(id)s, 1, '[1]', '')",
    "request": "UPDATE turns_attempt SET request = 'x' WHERE turn_id = %(id)s",
    "request's node": """UPDATE turns_attempt SET request = '[["00000000-0000-0000-0000-000000000000", {}]]' WHERE turn_id = %(id)s""",  # noqa: E501 - one statement
    "usage": """UPDATE turns_attempt SET usage = '[1]', error = '[1]', tool_calls = '5', response_headers = '[1]' WHERE turn_id = %(id)s""",  # noqa: E501 - one statement
    "answers": "UPDATE turns_attempt SET raw = '\\x00ff', raw_text = NULL, text = NULL, raw_at = now() WHERE turn_id = %(id)s",  # noqa: E501 - one statement
    "chunks": "UPDATE turns_attemptchunk SET raw = '\\x00ff' WHERE turn_id = %(id)s",
    "no attempts": "DELETE FROM turns_attempt WHERE turn_id = %(id)s",
}  # fmt: skip
#: One of each kind of damage, for each change; the others are of the same kinds.
OF_EACH_KIND = (
    "event",  # a record that cannot be read
    "order",  # records that do not follow from each other
    "gap",  # one that is missing
    "no record",
    "packed",  # bytes that do not unpack
    "transitions",  # what a record led to
    "setup",  # a column of another shape
    "base",
    "policy's node",  # a reference that leads nowhere
    "nodes",
    "bytes of nodes",
    "checkpoint",
    "usage",  # of an attempt
    "answers",
    "no attempts",
)
#: What others of its model may learn from: its records, its setup, its answers.
LEARNED_FROM = ("event", "gap", "setup", "usage", "answers")
GIVEN = {"index": "1", "token": "", "link_id": "1", "comment_id": "00000000-0000-0000-0000-000000000000"}
#: What is sent to an address that takes a body; to the others a form without fields.
BODIES = (
    {"mode": "verify"},
    {"mode": "what_if", "overrides": {"limits": {"max_continuations": 1}}},
    {"mode": "sweep", "limit": "max_continuations", "begin": 0, "end": 1},
)
ENDED = "has ended"  #: why an action is refused that a whole turn would refuse as well
#: Lists that the turn is in.
LISTS = (
    "/",
    "/lint",
    "/inbox",
    "/api/v1/turns",
    "/api/v1/lint",
    "/metrics-board",
    "/timeline/facets",
    "/timeline/chart",
)
#: What the page says of some of them.
NAMED = {
    "order": "The records can be read, but do not follow from each other.",
    "event": "Record 2 cannot be read.",
    "policy": "The policy cannot be read.",
    "bytes of nodes": "The conversation cannot be read.",
    "usage": "The usage of call 1 cannot be read.",
}


def addresses(resolver: URLResolver = get_resolver(), before: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield route
        else:
            yield from addresses(entry, route)


def of_turns(turn: Turn) -> list[str]:
    """Every address that names a turn."""
    named = {route for route in addresses() if "turn_id>" in route and not route.endswith("/")}
    filled = [re.sub(r"<(?:\w+:)?(\w+)>", lambda m: str({"turn_id": turn.id, **GIVEN}[m[1]]), route) for route in named]
    return sorted("/" + re.sub(r"[\^$]|\\Z", "", one) for one in filled)


def asked_of(turn: Turn) -> list[str]:
    by = User.objects.get(username="operator")
    links = [link_create(turn=turn, lifetime="1h", redacted=redacted, by=by)[1] for redacted in (False, True)]
    return [*of_turns(turn), *LISTS, *(f"/share/{token}" for token in links)]


def damage(turn_id: UUID, kind: str) -> None:
    """Do this to the rows of a turn."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(DAMAGES[kind], {"id": turn_id})


@contextmanager
def damaged(turn: Turn, kind: str) -> Iterator[None]:
    """So is the turn for the length of the block."""
    with transaction.atomic(), connection.cursor() as cursor:
        damage(turn.id, kind)
        # As a turn of an earlier release, whose sentence is said anew.
        cursor.execute("UPDATE turns_turn SET core_version = 'earlier' WHERE id = %s", [turn.id])
        yield
        transaction.set_rollback(True)


def answered(browser: Client, address: str, body: object = None) -> tuple[int, str]:
    """Status and text of the answer; whatever the request did is undone."""
    with transaction.atomic():
        if body is None:
            said: Any = browser.get(address)
        else:
            said = browser.post(address, body, content_type="application/json")
        transaction.set_rollback(True)
    return said.status_code, "" if said.streaming else compact(said.content.decode(errors="replace"))


def failed(browser: Client, turn: Turn, damage: str, addresses: Iterable[str], *, forms: bool = False) -> list[str]:
    """What fails, or is refused without saying which turn it is; with `forms`, also when something is sent there."""
    replays = f"/api/v1/turns/{turn.id}/replay"
    with damaged(turn, damage):
        asked = [(address, None) for address in addresses] + [(replays, body) for body in BODIES]
        asked += [(address, {}) for address in addresses if forms]
        answers = [(f"{damage}: {address} {body or ''}", *answered(browser, address, body)) for address, body in asked]
    told = (str(turn.id), ENDED)
    return [said for said, status, text in answers if status >= 500 or (status == 409 and not _says(text, told))]


def _says(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


@pytest.fixture
def whole(browser: Client, play: Play) -> Turn:
    browser.raise_request_exception = False
    return play("sim-tools", system_prompt="Be brief." * 100)


def test_no_url_of_a_damaged_turn_fails(browser: Client, whole: Turn):
    assert failed(browser, whole, "event", asked_of(whole), forms=True) == []


@pytest.mark.parametrize("damages", [OF_EACH_KIND, nightly(DAMAGES.keys() - OF_EACH_KIND)], ids=["kinds", "others"])
def test_for_any_damage_the_turn_page_its_signs_and_the_lists_are_served(
    browser: Client, whole: Turn, damages: Iterable[str]
):
    asked = [f"/turns/{whole.id}", f"/turns/{whole.id}/attempts/1/raw", f"/api/v1/turns/{whole.id}/lint", *LISTS]
    assert [said for damage in sorted(damages) for said in failed(browser, whole, damage, asked)] == []


@pytest.mark.parametrize("damages", [LEARNED_FROM, nightly(DAMAGES.keys() - LEARNED_FROM)], ids=["kinds", "others"])
def test_for_any_damage_the_pages_of_other_turns_of_its_model_are_served(
    browser: Client, play: Play, damages: Iterable[str]
):
    """What is learned of a model is learned of all its turns."""
    browser.raise_request_exception = False
    damaged_one, other = (play("sim-essay", name=name, max_tokens=60) for name in "ab")
    asked = [f"/turns/{other.id}", *(f"/turns/{other.id}/{part}" for part in ("limit", "replay", "attempts/1/raw"))]
    asked += [f"/api/v1/turns/{other.id}{part}" for part in ("", "/verdict", "/lint")]
    whole = {address: answered(browser, address)[0] for address in asked}
    for kind in sorted(set(damages) - {"nodes", "bytes of nodes"}):  # which both turns share
        experience.kept.forget()
        with damaged(damaged_one, kind):
            answers = {address: answered(browser, address)[0] for address in asked}
        assert answers == whole, kind
    assert max(whole.values()) < 400


@pytest.mark.nightly
def test_for_any_damage_no_url_of_the_turn_fails(browser: Client, whole: Turn):
    asked = asked_of(whole)
    assert [said for damage in DAMAGES for said in failed(browser, whole, damage, asked)] == []


def test_the_page_names_each_unreadable_part_and_shows_the_others(browser: Client, whole: Turn):
    browser.post(f"/turns/{whole.id}/comments", {"text": "Keep me.", "transition": 0})
    for damage, fault in NAMED.items():
        with damaged(whole, damage):
            status, html = answered(browser, f"/turns/{whole.id}")
        assert (status, fault in html, "Keep me." in html) == (200, True, True), damage
        assert f"/turns/{whole.id}/attempts/1/raw" in html or "Call 1 cannot be read." in html


@pytest.mark.parametrize(("kind", "told"), [("gap", "record 2 of"), ("no record", "records 1 to")])
def test_a_page_that_lacks_records_says_so_at_its_head(browser: Client, whole: Turn, kind: str, told: str):
    with damaged(whole, kind):
        html = compact(browser.get(f"/turns/{whole.id}").content.decode())
    assert f"This turn is damaged: {told}" in html
    assert "No answer arrived." not in html
    assert whole.output_text[:20] in html
    assert "No transition has been evaluated yet." not in html


def test_an_internal_error_is_not_reported_as_damage_of_a_turn_that_does_not_verify(
    browser: Client, whole: Turn, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object, **__: object) -> None:
        raise ValueError("of ours")

    link = asked_of(whole)[-2]
    for reader in ("turns.views.turn_view", "exports.share_links.views.shared_context"):
        monkeypatch.setattr(f"dashboard.{reader}", fail)
    Turn.objects.filter(id=whole.id).update(input_tokens=123_456)
    assert not verification_of(Turn.objects.get(id=whole.id)).verified
    for address in (f"/turns/{whole.id}", link):
        assert answered(browser, address)[0] == 500, address


def test_the_api_and_a_shared_page_report_the_damage(browser: Client, whole: Turn):
    link = asked_of(whole)[-2]
    for address in (f"/api/v1/turns/{whole.id}/lint", f"/turns/{whole.id}/replay", link):
        with damaged(whole, "event"):
            status, said = answered(browser, address)
        assert (status, "Record 2 cannot be read." in said, str(whole.id) in said) == (409, True, True), address
