"""The metrics board."""

from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.agents.samples import is_simulated
from dashboard.agents.selectors import project_current
from dashboard.board.charts import STACKS, charts_of, turns_address
from dashboard.board.measures import OTHER
from dashboard.board.metrics import METRICS, shown
from dashboard.board.periods import PERIODS, USUAL, Period, named, period_of
from dashboard.board.selectors import DIMENSIONS, Board, Scope, board_of, values_of
from dashboard.platform.replica import may_be_late
from dashboard.timeline.chips import span_words

LABELS = {"agent": "Agent", "provider": "Provider", "model": "Model"}


@require_safe
@may_be_late
def board(request: HttpRequest) -> HttpResponse:
    """Of a period, narrowed to an agent, a provider and a model: a chart of each metric; a table `by` one of them."""
    now, errors = timezone.now(), dict[str, list[str]]()
    try:
        period = period_of(request.GET.dict(), now=now)
    except ValidationError as error:
        errors, period = error.message_dict, named(USUAL, now=now)
    scope = scope_of(request)
    by = _one_of(request, "by", tuple(DIMENSIONS), "model")
    stack = _one_of(request, "stack", tuple(STACKS), "model_stop_reason")
    project = project_current()
    found = board_of(
        project=project, scope=scope, since=period.since, until=period.until, seconds=period.seconds, by=by
    )
    context = {
        "board": found,
        "charts": charts_of(found, scope, stack=stack),
        "rows": _rows(found, scope, by),
        "columns": [metric.title for metric in METRICS.values()],
        "unpriced": [name for name in found.unpriced if not is_simulated(name)],
        "by": by,
        "by_label": LABELS[by],
        "choices": _choices(scope, values_of(project=project)),
        "errors": [sentence for sentences in errors.values() for sentence in sentences],
        **_switches(scope, period, by, stack),
    }
    return render(request, "board/page.html", context, status=400 if errors else 200)


def scope_of(request: HttpRequest) -> Scope:
    """Of an address: an agent, a provider and a model, each as it is written."""
    return Scope(**{name: request.GET.get(name, "").replace("\x00", "").strip() for name in DIMENSIONS})


def _one_of(request: HttpRequest, name: str, known: tuple[str, ...], usual: str) -> str:
    given = request.GET.get(name, "")
    return given if given in known else usual


def _choices(scope: Scope, values: dict[str, list[str]]) -> list[dict[str, Any]]:
    """A list to choose from for each dimension; what is chosen is in it though no turn has it."""
    return [
        {"name": name, "label": LABELS[name], "chosen": chosen, "values": sorted({*values[name], chosen} - {""})}
        for name in DIMENSIONS
        for chosen in [getattr(scope, name)]
    ]


def _rows(found: Board, scope: Scope, by: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            # The turns of `other` have names of their own, which the timeline cannot ask for all at once.
            "address": "" if name == OTHER else turns_address(_narrowed(scope, by, name), found.since, found.until),
            "cells": [(metric.title, shown(metric, sums)) for metric in METRICS.values()],
        }
        for name, sums in found.groups
    ]


def _narrowed(scope: Scope, by: str, name: str) -> Scope:
    return Scope(**{**scope.given(), by: name})


def _switches(scope: Scope, period: Period, by: str, stack: str) -> dict[str, Any]:
    """The links that change one thing and keep all else."""
    times = {"period": period.name} if period.name else _ends(period)
    kept = {**scope.given(), "by": by, "stack": stack}

    def link(times: dict[str, str], **changed: str) -> str:
        return "?" + urlencode({**kept, **times, **changed})

    return {
        "when": span_words(period.since, period.until),
        "period": period,
        "times": times,
        "stack": stack,
        "periods": [(name, words, link({"period": name})) for name, (words, _) in PERIODS.items()],
        "stacks": [(name, words, link(times, stack=name)) for name, words in STACKS.items()],
        "splits": [(name, words.lower(), f"{link(times, by=name)}#groups-title") for name, words in LABELS.items()],
    }


def _ends(period: Period) -> dict[str, str]:
    return {"since": f"{period.since:%Y-%m-%dT%H:%M}", "until": f"{period.until:%Y-%m-%dT%H:%M}"}
