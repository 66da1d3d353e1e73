"""The limit that would have let a turn finish: looked at, found by a live re-run, and used."""

from contextlib import suppress
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentcore.number_format import number, read_number
from agentcore.policy import LIMIT_NAMES, SETTING_NAMES
from agentcore.replay import Certainty
from agentcore.values import replace
from dashboard.accounts.models import User
from dashboard.agents.models import PolicyVersion
from dashboard.agents.selectors import project_current
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.next_step import leading_on
from dashboard.policies.suggestions.panel import Panel, last_of, panel_of, waited_for
from dashboard.policies.suggestions.services import (
    backtest_of_value,
    cap_and_draft_use,
    limit_find,
    one_at_a_time,
    policy_draft,
)
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_log import tell, tell_all
from dashboard.policies.suggestions.suggestion_text import because, given
from dashboard.turns.models import Turn
from dashboard.turns.page_lookup import turn_or_404
from dashboard.turns.read_ahead import reading_once

#: Which of the two re-runs of one click a browser waits for: the second is made by itself, and never a third.
MOST_CELLS = 100  #: of one request: a page has 50 rows
FIRST, SECOND = "first", "second"
CHANGED = "rerun-changed"  #: the event at which a page asks for the panel anew
NO_VALUE = "This page is out of date. Nothing was started. Reload it and check the price."
REWORDED = (
    "The conversation of this fork was changed, and a re-run from the start would ask the original one. No re-run was "
    "started."
)


@require_safe
def limit(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The panel as it is now; to a browser without scripts the turn's page, which has it. `?waits=`: only whether the
    re-run or backtest that the panel shows has changed, which takes no place among the replays."""
    turn = turn_or_404(turn_id)
    if "waits" in request.GET and request.headers.get("HX-Request"):
        return _changed_since(request, turn)
    return _shown(request, turn, asked=request.GET.get("found", ""))


def _changed_since(request: HttpRequest, turn: Turn) -> HttpResponse:
    """Of a backtest its line; of a re-run nothing but the event at which the page asks for the panel."""
    waits = _id(request.GET["waits"])
    waited = None if waits is None else waited_for(turn, waits)
    if isinstance(waited, Backtest):
        return render(request, "suggestions/_backtest.html", {"turn": turn, "backtest": waited})
    response = HttpResponse(status=204)
    if waited is None or waited.status != request.GET.get("was"):
        response["HX-Trigger"] = CHANGED
    return response


def _id(told: str) -> UUID | None:
    """None: what was told is no id."""
    with suppress(ValueError):
        return UUID(told)
    return None


@require_safe
def cells(request: HttpRequest) -> HttpResponse:
    """The limits in rows of the timeline, `?turn=` each, which a script of that page puts in; to a browser without
    scripts the timeline. Of a turn that is gone there is none."""
    if not request.headers.get("HX-Request"):
        return redirect("timeline:timeline")
    told = suggestions_now(_asked(request), project_current())
    tell_all(told)
    return render(request, "suggestions/_cells.html", {"told": told})


def _asked(request: HttpRequest) -> set[UUID]:
    """Without what is no id."""
    asked = map(_id, request.GET.getlist("turn")[:MOST_CELLS])
    return {each for each in asked if each is not None}


@require_POST
def find(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Ask the provider again under the suggested value; what comes of it is shown in the panel."""
    turn, only, fault = turn_or_404(turn_id), request.POST.get("only", ""), ""
    try:
        _found(turn, only, request.POST.get("value", ""), cast("User", request.user))
    except ValidationError as error:
        fault = " ".join(error.messages)
    return _shown(request, turn, fault, asked=SECOND if only else FIRST)


def _found(turn: Turn, only: str, told: str, by: User) -> None:
    """`told`: the value that the form named, with its price."""
    with one_at_a_time(turn):
        panel = panel_of(turn)
        if panel is None:
            raise ValidationError("No limit would have let this turn finish.")
        if not told:
            raise ValidationError(NO_VALUE)
        if only == "backtest" and panel.backtest is not None:
            return  # the panel shows it: a page that was open before asks for what is there
        if only == "backtest":
            _same_as_told(panel.suggestion, told, "The value to backtest is now {}. No backtest was started.")
            backtest_of_value(turn=turn, suggestion=panel.suggestion, value=panel.suggestion.value, created_by=by)
        else:
            limit_find(turn=turn, suggestion=_tried(panel, only, told), created_by=by)


def _tried(panel: Panel, only: str, told: str) -> Suggestion:
    """The smaller value where that was asked for, and never the larger one in its place. Nobody pays for another value
    than the one whose price was shown, nor for what another re-run has shown since."""
    if panel.is_reworded:
        raise ValidationError(REWORDED)
    if panel.running is not None:
        raise ValidationError("A re-run is in progress already.")
    if only != "less" and panel.by_rerun and not panel.suggestion.may_be_cut:
        raise ValidationError("Another re-run has found a limit in the meantime. No re-run was started.")
    said = panel.less if only == "less" else panel.suggestion
    if said is None:
        raise ValidationError("The smaller value is no longer suggested.")
    _same_as_told(said, told, "The value to try is now {}. No re-run was started. Check the price.")
    return said


def _same_as_told(said: Suggestion, told: str, otherwise: str) -> None:
    if told != str(said.value):
        raise ValidationError(otherwise.format(number(said.value)))


@require_POST
def use(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """A value as the agent's own cap, or as a draft of its policy. `limit`: another one than the suggested."""
    turn = turn_or_404(turn_id)
    try:
        address = _used(request, turn, _meant(turn, request.POST.get("limit", "")))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        address = reverse("turns:detail", args=[turn.id])
    return redirect(address)


def _meant(turn: Turn, limit: str) -> Suggestion:
    panel = panel_of(turn)
    if panel is not None and limit in ("", panel.suggestion.limit):
        return panel.suggestion
    if limit not in LIMIT_NAMES:
        raise ValidationError("No limit would have let this turn finish; choose the limit to change.")
    return Suggestion(limit, 0, None, Certainty.UNDECIDABLE, Basis.NONE)


def _used(request: HttpRequest, turn: Turn, said: Suggestion) -> str:
    """What was done is told; the address of where it can be seen."""
    value, by = _value(request.POST.get("value", ""), said.limit), cast("User", request.user)
    why = f"Turn {str(turn.id)[:13]}: {because(said)}" if said.known else f"Found with turn {str(turn.id)[:13]}."
    if said.limit != "max_tokens":
        version, is_new = policy_draft(turn=turn, suggestion=said, value=value, by=by, why=why)
        messages.success(request, _draft_in_words(version, given(replace(said, value=value)), is_new=is_new))
        return reverse("policies:version", args=[version.pk])
    if not request.user.has_perm("agents.change_agent"):
        raise ValidationError("You do not have permission to change agents. Ask an administrator.")
    was = turn.agent.max_tokens if turn.agent else None
    standing = _value(request.POST["standing"], said.limit) if request.POST.get("standing") else None
    used = cap_and_draft_use(turn=turn, suggestion=said, value=value, by=by, why=why, standing=standing)
    of_agent, draft = f"{LIMIT_NAMES[said.limit]} of {used.agent.name}", used.draft
    changed = f"{of_agent} was changed from {number(was or 0)} to {number(value)}. It applies from the next turn on."
    messages.success(request, f"{of_agent} is already {number(value)}." if was == value else changed)
    if draft is None:
        return _where_tried(turn.id, used.backtest)
    words = _draft_in_words(draft[0], given(said, first=1), is_new=draft[1])
    messages.success(request, f"{words} It is needed, too: activate it.")
    return reverse("policies:version", args=[draft[0].pk])


def _where_tried(turn_id: UUID, backtest: Backtest | None) -> str:
    """The turn's page, which shows the backtest of the value; the backtest's own where it does not."""
    panel = panel_of(turn_or_404(turn_id))
    if backtest is None or (panel is not None and backtest in (panel.backtest, panel.of_cap)):
        return reverse("turns:detail", args=[turn_id])
    return reverse("backtests:show", args=[backtest.pk])


def _draft_in_words(version: PolicyVersion, settings: str, *, is_new: bool) -> str:
    done = "created" if is_new else "already exists"
    return f"Draft v{version.version} of “{version.policy.name}” {done}: {settings}."


def _value(given: str, limit: str) -> int:
    value = read_number(given)
    if not isinstance(value, int):
        raise ValidationError(f"{SETTING_NAMES.get(limit, 'The value')} must be a whole number.")
    return value


@reading_once()
def _shown(request: HttpRequest, turn: Turn, fault: str = "", *, asked: str = "") -> HttpResponse:
    """`asked`: what this browser had tried last, `FIRST` or `SECOND`; empty: nothing."""
    if not request.headers.get("HX-Request"):
        if fault:
            messages.error(request, fault)
        return redirect("turns:detail", turn.id)
    last = last_of(turn)
    panel = panel_of(turn, last)
    if panel is not None:
        tell(turn, panel.suggestion, panel.less, panel.other)
    # Who had it found is shown the backtest of what was found as well, without asking for it.
    asked = asked if asked in (FIRST, SECOND) and not fault else ""
    just_found = bool(asked) and panel is not None and panel.by_rerun
    first = just_found and asked == FIRST
    follows = first and panel is not None and panel.of_agent and panel.may_be_less and not panel.less_tried
    context = {
        "turn": turn,
        "panel": panel,
        "fault": fault,
        "asked": asked,
        "just_found": just_found,
        "follows": follows,
        **leading_on(turn, last),
    }
    return render(request, "suggestions/_limit.html", context)
