"""Every form of every page, filled with garbage: no failure of the server, no sentence of the form library, one way to
show what is wrong, and nothing that was typed is lost."""

import re
from collections.abc import Iterator

import pytest
from django import forms
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from dashboard.platform.form_errors import FieldErrors
from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import World, browser_of, made_world
from tests.dashboard.forms.page_forms import PageForm, parts_of

pytestmark = pytest.mark.django_db
GARBAGE = {
    "empty": "",
    "letters": "forty-two",
    "negative": "-7",
    "too large": "1" + "0" * 30,
    "100 kB": "x" * 100_000,
    "NUL": "a\x00b",
    "control character": "a\x01b",
    "emoji": "🙂👩‍👩‍👧",
    "right to left": "שלום\u202e",
    "markup": "<script>alert(1)</script>",
}
#: How the form library begins its sentences.
FOREIGN = re.compile(
    r"This field|This value|Ensure th|Enter a (valid|whole|number|list)|Select a valid|already exists\.|"
    r"Null characters|is not a valid|Traceback"
)
#: Forms of the admin, of passwords and codes, of addresses alone, and of a turn that can be run again.
NOT_WALKED = {
    "ScopeForm", "McpServerForm", "SignInForm", "SecondFactorForm", "CellForm", "ChangedPasswordForm",
    "CurrentPasswordForm", "RerunForm",
}  # fmt: skip
PAGES = sorted(
    route for route, methods in SERVED.items()
    if "GET" in methods.split() and not route.startswith(("api/", "admin/", "^share", "share/", "sign-in/", "docs/"))
)  # fmt: skip


@pytest.fixture
def world() -> World:
    return made_world()


@pytest.fixture
def owner(world: World) -> Client:
    return browser_of(world.owner)


def page_forms(owner: Client, world: World) -> Iterator[tuple[str, PageForm]]:
    """Each form once that people fill in and that is sent by POST, with the address that it goes to."""
    met = set()
    for route in PAGES:
        address = world.address(route)
        answer = owner.get(address)
        if answer.streaming or "html" not in answer.get("Content-Type", "") or answer.status_code != 200:
            continue
        for form in parts_of(answer.content.decode()).forms:
            to = form.action or address
            key = (to, form.names)
            if form.method == "post" and form.seen and key not in met:
                met.add(key)
                yield to, form


def sent(form: PageForm, garbage: str) -> dict[str, str | list[str]]:
    """Garbage in all that people fill in; what they do not see as it is."""
    hidden = {one.name: one.value for one in form.controls if one.kind == "hidden" and one.name}
    return hidden | {one.name: garbage for one in form.seen if not one.fixed}


def asked(owner: Client, address: str, data: dict[str, str | list[str]]) -> HttpResponse:
    cookies = owner.cookies.copy()
    with transaction.atomic():
        answer = owner.post(address, data)
        transaction.set_rollback(True)
    owner.cookies = cookies
    return answer


def faults_of(answer: HttpResponse, form: PageForm, data: dict[str, str | list[str]]) -> Iterator[str]:
    """What is wrong with a page that shows what is wrong."""
    text = answer.content.decode()
    if found := FOREIGN.search(text):
        yield f"says “{text[found.start() : found.start() + 80]}”"
    if "html" not in answer.get("Content-Type", "") or answer.status_code != 422:
        return
    parts = parts_of(text)
    if any(not around.endswith("_error") for around in parts.errors):
        yield "shows an error in another way"
    wrong = list(dict.fromkeys(around.removesuffix("_error") for around in parts.errors if "over-" not in around))
    if parts.summary != wrong and (parts.summary or len(form.seen) > 1):
        yield f"lists {parts.summary} of {wrong} above the form"
    again = next((one for one in parts.forms if one.names == form.names), form)
    for one in again.seen:
        if one.invalid and one.kind not in {"checkbox", "radio"} and not set(one.described_by.split()) & parts.ids:
            yield f"{one.name} is not described by its error"
        typed = str(data.get(one.name, "")).strip()
        if one.typed and one.kind != "password" and typed not in one.value:
            yield f"{one.name} lost what was typed"


def test_garbage_in_any_form_is_answered_in_our_words(owner: Client, world: World, monkeypatch: pytest.MonkeyPatch):
    cleaned: set[str] = set()
    whole = forms.BaseForm.full_clean

    def full_clean(self: forms.BaseForm) -> None:
        cleaned.update(each.__name__ for each in type(self).__mro__)
        whole(self)

    monkeypatch.setattr(forms.BaseForm, "full_clean", full_clean)
    wrong = []
    for address, form in list(page_forms(owner, world)):
        for name, garbage in GARBAGE.items():
            answer = asked(owner, address, data := sent(form, garbage))
            if answer.status_code >= 500:
                wrong.append(f"{address} with {name}: {answer.status_code}")
                continue
            wrong += [f"{address} with {name}: {fault}" for fault in faults_of(answer, form, data)]
    assert not wrong, "\n".join(wrong)
    ours = {one.__name__ for one in all_forms() if one.__module__.startswith("dashboard.")}
    assert ours - cleaned == NOT_WALKED


def all_forms(kind: type[forms.BaseForm] = forms.BaseForm) -> Iterator[type[forms.BaseForm]]:
    for one in kind.__subclasses__():
        yield one
        yield from all_forms(one)


def test_every_form_words_its_errors_in_one_way():
    others = [
        one for one in all_forms() if one.__module__.startswith("dashboard.") and not issubclass(one, FieldErrors)
    ]
    assert not others
