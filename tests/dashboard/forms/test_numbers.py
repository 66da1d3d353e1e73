"""Numbers in forms: each field takes what pages write, refuses all else, and says in one way what it must be."""

import re

import pytest
from django import forms
from django.test import Client

from dashboard.agents.limit_fields import LIMIT_FIELDS, RETENTION_FIELDS
from dashboard.platform.form_errors import FieldErrors
from dashboard.policies.policy_forms import PolicyForm
from tests.dashboard.accounts.walking import World, browser_of, made_world
from tests.dashboard.forms.page_forms import parts_of
from tests.together import together

NO_NUMBERS = ("NaN", "Infinity", "-inf", "1_000", "120 000", "1e3", "١٢", "1,00", "4000.0.0", "many")
RULE = re.compile(r"must be a (whole )?number( of \w+)?( from [\d,.]+ to [\d,.]+| of at (least|most) [\d,.]+)?\.")


class Numbers(FieldErrors, forms.Form):
    whole = forms.IntegerField(label="Steps", min_value=1, max_value=10_000)
    part = forms.FloatField(label="Share", min_value=0)
    price = forms.DecimalField(label="Price", max_digits=12, decimal_places=2)


@pytest.fixture
def world(db: None) -> World:
    return made_world()


@pytest.fixture
def owner(world: World) -> Client:
    return browser_of(world.owner)


def test_each_field_reads_numbers_as_pages_write_them():
    form = Numbers({"whole": " 1,000 ", "part": "1,234.5", "price": "2,000.25"})
    assert form.is_valid(), form.errors
    assert (form.cleaned_data["whole"], form.cleaned_data["part"]) == (1000, 1234.5)
    assert str(form.cleaned_data["price"]) == "2000.25"


@together
@pytest.mark.parametrize("text", NO_NUMBERS)
def test_any_other_text_is_no_number(text: str):
    form = Numbers({"whole": text, "part": text, "price": text})
    assert form.faults == [
        "Steps must be a whole number from 1 to 10,000.",
        "Share must be a number of at least 0.",
        "Price must be a number.",
    ]


def test_a_whole_number_has_no_decimals():
    assert Numbers({"whole": "4.0", "part": "4.0", "price": "4"}).faults == [
        "Steps must be a whole number from 1 to 10,000."
    ]


def test_every_number_of_a_policy_has_the_same_wording(world: World):
    numbers = (*LIMIT_FIELDS, *RETENTION_FIELDS)
    for typed in (*NO_NUMBERS, "-1", "9" * 30):
        form = PolicyForm({**dict.fromkeys(numbers, typed), "max_retries": typed, "name": "wide"})
        form.is_valid()
        for name in (*numbers, "max_retries"):
            (told,) = form.errors[name]
            label = LIMIT_FIELDS[name].label if name in LIMIT_FIELDS else form[name].label
            label = getattr(label, "plain", label)
            assert told.startswith(f"{label} must be ")
            assert RULE.fullmatch(told.removeprefix(f"{label} ")), told


def test_a_policy_takes_a_number_as_the_page_shows_it(world: World):
    form = PolicyForm({"max_total_output_chars": "120,000", "max_seconds": "1,234.5", "name": "wide"})
    form.is_valid()
    assert form.cleaned_data["max_total_output_chars"] == 120_000
    assert form.cleaned_data["max_seconds"] == 1234.5


@together
@pytest.mark.parametrize("typed", ["-5", "NaN", "1_000", "604801"])
def test_the_approval_time_limit_is_said_to_be_wrong_at_its_own_field(owner: Client, world: World, typed: str):
    address = world.address("agents/<name>")
    form = next(one for one in parts_of(owner.get(address).content.decode()).forms if "approve_seconds" in one.names)
    sent = {one.name: one.value for one in form.controls if one.name and one.kind not in {"checkbox", "radio"}}
    html = " ".join(owner.post(address, {**sent, "approve_seconds": typed}).content.decode().split())
    told = "Approval time limit (seconds) must be a number from 1 to 604,800."
    assert f'id="id_approve_seconds_error" role="alert"> <p class="error">{told}</p>' in html
    assert 'id="id_approve_error"' not in html
