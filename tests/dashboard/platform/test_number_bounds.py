"""Every number of every form: the bound that a message names is the bound that holds, in this product's words."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import pytest
from django import forms
from django.urls import get_resolver

from dashboard.agents.forms import AgentForm
from dashboard.agents.models import Agent, Connection
from dashboard.agents.selectors import project_default
from dashboard.board.alerts.forms import AlertForm
from dashboard.gateway.admin import ScopeForm
from dashboard.gateway.models import GatewayKey
from dashboard.live.conversations.forms import PromptForm
from dashboard.policies.backtests.forms import DraftForm

pytestmark = pytest.mark.django_db
#: Read from addresses and hidden fields, not typed.
UNTYPED = {"seen", "expected_seq"}
#: Checked with what they are about: a turn, a conversation, the tools that need approval.
WITH_MORE = {
    "OperateForm.max_tokens",
    "PromptForm.token_budget",
    "BudgetForm.token_budget",
    "AgentForm.approve_seconds",
}
BOUND = re.compile(r"at (least|most) ([\d,.e+]*\d)\b(?! digit)")
SPAN = re.compile(r"from ([\d,.]*\d) to ([\d,.]*\d)\.")


def subclasses(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


def typed_numbers() -> list[tuple[type[forms.BaseForm], str]]:
    assert get_resolver().url_patterns, "all pages and their forms are imported"
    import_module("dashboard.board.alerts.forms")
    ours = [form for form in subclasses(forms.BaseForm) if form.__module__.startswith("dashboard.")]
    found = [(form, name) for form in ours for name in getattr(form, "base_fields", {})]
    found += [(ScopeForm, name) for form, name in found if form.__name__ == "KeyForm"]
    return sorted(
        {(form, name) for form, name in found if _is_number(form, name) and not _elsewhere(form, name)},
        key=lambda pair: (pair[0].__module__, pair[0].__name__, pair[1]),
    )


def _elsewhere(form: type, name: str) -> bool:
    return name in UNTYPED or f"{form.__name__}.{name}" in WITH_MORE


def _is_number(form: Any, name: str) -> bool:
    field = form.base_fields.get(name)
    return isinstance(field, forms.IntegerField) or getattr(field, "widget", None).__class__ is forms.NumberInput


def agent() -> Agent:
    connection = Connection(project=project_default(), name="c", provider="openai", base_url="http://127.0.0.1/v1")
    return Agent(project=project_default(), name="a", connection=connection, model="m", max_tokens=60)


BUILT: Mapping[type, Callable[[dict[str, str]], forms.BaseForm]] = {
    AlertForm: lambda data: AlertForm(data, values={"agent": [], "provider": [], "model": []}),
    PromptForm: lambda data: PromptForm(agent(), data),
    DraftForm: lambda data: DraftForm(project_default(), data),
    AgentForm: lambda data: AgentForm(data, instance=agent()),
}


def messages(form: type[forms.BaseForm], name: str, value: str) -> list[str]:
    if form is ScopeForm:
        from django.contrib import admin
        from django.test import RequestFactory

        kind: Any = admin.site._registry[GatewayKey].get_form(RequestFactory().get("/"), GatewayKey())
        built = kind({name: value}, instance=GatewayKey(project=project_default()))
    else:
        built = BUILT.get(form, form)({name: value})  # type: ignore[arg-type]
    return list(built.errors.get(name, []))


@pytest.mark.parametrize(("form", "name"), typed_numbers(), ids=lambda one: getattr(one, "__name__", one))
def test_the_bound_that_is_named_is_the_bound_that_holds(form: type[forms.BaseForm], name: str):
    named = {}
    for far in ("-1000000000000000000000", "-1", "1000000000000000000000"):
        for message in messages(form, name, far):
            assert "Ensure" not in message
            named |= {"least": 0.0} if "cannot be negative" in message else {}
            named |= {side: float(value.replace(",", "")) for side, value in BOUND.findall(message)}
            for least, most in SPAN.findall(message):
                named |= {"least": float(least.replace(",", "")), "most": float(most.replace(",", ""))}
    assert "least" in named, f"{form.__name__}.{name} takes any number, however small"
    for side, value in named.items():
        step = 1 if value == int(value) and value < 1e12 else value / 2
        beyond = value - step if side == "least" else value + step
        assert not messages(form, name, f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value}" else f"{value}")
        assert messages(form, name, f"{beyond:.10g}"), f"{form.__name__}.{name} takes {beyond}"
