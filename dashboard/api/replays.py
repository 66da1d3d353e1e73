"""The three replays of a turn, and backtests over many."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from ninja import Body, Router, Status

from agentcore.quoting import quoted
from dashboard.accounts.models import User
from dashboard.accounts.roles import REPLAY
from dashboard.agents.models import Policy
from dashboard.agents.policies import POLICY_CLEANERS
from dashboard.agents.selectors import policy_get, project_current
from dashboard.api import backtest_response_schemas, replay_request_schemas, replay_response_schemas, request_schemas
from dashboard.api.callers import caller, require
from dashboard.api.list_pages import Paged, page_of
from dashboard.api.problems import about, about_parts_of
from dashboard.policies.backtests import services as backtests
from dashboard.policies.backtests.selectors import backtest_get as get_backtest
from dashboard.policies.backtests.selectors import backtest_list as list_backtests
from dashboard.policies.backtests.selectors import backtest_shown, backtest_summaries
from dashboard.policies.suggestions.api_suggestions import known_limit_shown
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay import rerun_service, services
from dashboard.replay.rerun_changes import RerunChanges, result_text
from dashboard.turns import api_serializers, selectors
from dashboard.turns.filters import TimelineFilters, unknown_filters
from dashboard.turns.models import Turn
from dashboard.turns.origins import vouched_of

router = Router(tags=["replay"])


@router.post(
    "/turns/{turn_id}/replay",
    response={
        200: replay_response_schemas.WhatIf | replay_response_schemas.Verification | replay_response_schemas.Sweep,
        201: replay_response_schemas.Rerun,
    },
    summary="Verify a turn, evaluate a what-if, or re-run a turn",
)
def turn_replay(
    request: HttpRequest, turn_id: UUID, body: Body[replay_request_schemas.Replay]
) -> Status[dict[str, Any]]:
    """`verify` → `{verified, divergence, missing, vouched_by}`; `what_if` → the turn as it would have been, with its
    `steps`, its certainty and its assumptions; `rerun` → 201 and the new turn's id; `sweep` → how the turn would have
    ended at each value of one limit, and the values from which on it certainly or likely completes."""
    turn = selectors.turn_get(turn_id)
    match body:
        case replay_request_schemas.AskVerify():
            found = api_serializers.verification_json(services.turn_verify(turn=turn))
            return Status(200, {**found, "vouched_by": vouched_of(turn).by})
        case replay_request_schemas.AskWhatIf():
            return Status(200, _what_if(turn, body.overrides.given()))
        case replay_request_schemas.AskRerun():
            require(request, REPLAY)
            return Status(201, _rerun(turn, body, caller(request)))
        case replay_request_schemas.AskSweep():
            return Status(200, _sweep(turn, body))


def _rerun(turn: Turn, asked: replay_request_schemas.AskRerun, by: User) -> dict[str, Any]:
    given = asked.given()
    words = RerunChanges(
        messages={message["place"]: message["text"] for message in given.get("messages", ())},
        results={said.call_id: result_text(said.result) for said in asked.tool_results or ()},
        connection=given.get("connection"),
        breakpoints=given.get("breakpoints"),
    )
    with about_parts_of("overrides", request_schemas.Overrides.model_fields):
        made = rerun_service.turn_rerun(
            turn=turn,
            overrides=asked.overrides.given(),
            from_record=asked.from_record,
            created_by=by,
            words=words,
        )
    return {"id": made.id, "parent_id": turn.id}


def _sweep(turn: Turn, asked: replay_request_schemas.AskSweep) -> dict[str, Any]:
    if asked.step < 1:
        raise ValidationError({"step": "The step must be at least 1."})
    values = range(asked.begin, asked.end + 1, asked.step)
    with about_parts_of("overrides", request_schemas.Overrides.model_fields):
        found = suggested_sweep(turn=turn, name=asked.limit, values=values, overrides=asked.overrides.given())
    return found.shown()


def _what_if(turn: Turn, overrides: dict[str, Any]) -> dict[str, Any]:
    with about_parts_of("overrides", request_schemas.Overrides.model_fields):
        imagined = services.turn_what_if(turn=turn, overrides=overrides)
    return {
        **imagined.shown(turn),
        "known_limit": known_limit_shown(turn) if imagined.undecidable and overrides else None,
    }


@router.post("/backtests", response={201: backtest_response_schemas.BacktestId}, summary="Start a backtest")
def backtest_create(request: HttpRequest, body: replay_request_schemas.NewBacktest) -> Status[dict[str, Any]]:
    """The backtest runs in the background. The filters of the timeline select its turns; re-runs are left out."""
    made = backtests.backtest_create(
        project=project_current(),
        policy=_draft(body.policy.given()),
        filter=_filter(body.filter or {}),
        max_tokens=body.max_tokens,
        stands_for=_policy(body.stands_for),
        keeps_overrides=body.keeps_overrides,
        created_by=caller(request),
    )
    return Status(201, {"id": made.id})


def _policy(name: str | None) -> Policy | None:
    if name is None:
        return None
    try:
        return policy_get(project=project_current(), name=name)
    except Policy.DoesNotExist as error:
        raise ValidationError(
            {"stands_for": f"There is no policy {quoted(name)}; leave it out, or name one."}
        ) from error


def _draft(given: dict[str, Any]) -> dict[str, Any]:
    """What the draft says; its name is for the caller's own use."""
    clean = {}
    for field in POLICY_CLEANERS.keys() & given.keys():
        with about(f"policy.{field}"):
            clean[field] = POLICY_CLEANERS[field](given[field])
    return clean


def _filter(given: dict[str, Any]) -> dict[str, Any]:
    filters, errors = TimelineFilters.parse_stored(given)
    errors |= unknown_filters(given)
    if errors:
        raise ValidationError({f"filter.{name}": words for name, words in errors.items()})
    return filters.as_dict()


@router.get("/backtests", response=backtest_response_schemas.BacktestPage, summary="List backtests")
def backtest_list(request: HttpRequest, page: Paged) -> dict[str, Any]:
    """Newest first, a page at a time."""
    found = page_of(list_backtests(project=project_current()), page, order="-id", limit=page.limit)
    return {**found.as_dict(), "items": backtest_summaries(found.items)}


@router.get("/backtests/{backtest_id}", response=backtest_response_schemas.Backtest, summary="Get a backtest")
def backtest_get(request: HttpRequest, backtest_id: UUID) -> dict[str, Any]:
    """The progress of the backtest, how many turns would have ended differently, and at what cost."""
    return backtest_shown(get_backtest(backtest_id, project=project_current()))


@router.post(
    "/backtests/{backtest_id}/cancel", response={202: backtest_response_schemas.Backtest}, summary="Cancel a backtest"
)
def backtest_cancel(request: HttpRequest, backtest_id: UUID) -> Status[dict[str, Any]]:
    """The backtest ends soon and keeps its results so far. A backtest that has ended does not change."""
    backtests.backtest_cancel(backtest=get_backtest(backtest_id, project=project_current()))
    return Status(202, backtest_shown(get_backtest(backtest_id, project=project_current())))
