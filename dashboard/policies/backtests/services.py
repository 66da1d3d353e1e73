"""Writes of backtests. Raises `ValidationError` in words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from agentcore.number_format import number_rule
from dashboard.accounts.models import User
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.policies import policy_said
from dashboard.policies.backtests.models import Backtest

MOST_TOKENS = 10_000_000
UNFINISHED = (Backtest.Status.QUEUED, Backtest.Status.RUNNING)
BROKEN_OFF = (Backtest.Status.CANCELLED, Backtest.Status.FAILED)  #: they never judge the turns that are left


def backtest_create(
    *,
    project: Project,
    policy: Mapping[str, Any],
    filter: Mapping[str, Any],
    max_tokens: int | None = None,
    stands_for: Policy | None = None,
    keeps_overrides: bool = False,
    tried_version: PolicyVersion | None = None,
    created_by: User | None = None,
    queued: bool = True,
) -> Backtest:
    """A draft policy to be tried over stored turns; `max_tokens`: of their first call, in place of their own.

    `stands_for`: the policy whose place it takes among the words of each turn; without one it stands for all of them,
    also for a turn's own overrides unless it `keeps_overrides`.
    `tried_version`: the version that the settings started from.
    `queued`: workers are told at once; else whoever makes it works on it, and they take it up when they look for those
    that nobody was told of.
    """
    from dashboard.policies.backtests.tasks import run_backtest

    draft = policy_said(**policy)
    if max_tokens is not None and not 1 <= max_tokens <= MOST_TOKENS:
        raise ValidationError({"max_tokens": f"It {number_rule(1, MOST_TOKENS, whole=True)}"})
    with transaction.atomic():
        backtest = Backtest.objects.create(
            project=project,
            policy=draft,
            filter=dict(filter),
            max_tokens=max_tokens,
            stands_for=stands_for,
            keeps_overrides=keeps_overrides or stands_for is not None,
            tried_version=tried_version.pk if tried_version else None,
            created_by=created_by,
        )
        if queued:
            run_backtest.defer(backtest_id=str(backtest.id))
    return backtest


def backtest_once(
    *, project: Project, created_by: User | None = None, since: datetime | None = None, **asked: Any
) -> Backtest:
    """The newest backtest that tries just this (`asked`: as for `backtest_create`), or a new one where there is none or
    it was cancelled or failed. `since`: one that was created before could not count what is known by now."""
    found = backtest_newest(project=project, since=since, **asked)
    if found is None or found.status in BROKEN_OFF:
        return backtest_create(project=project, created_by=created_by, **asked)
    return found


def backtest_newest(*, project: Project, since: datetime | None = None, **asked: Any) -> Backtest | None:
    """None where none tries just this."""
    of_time = {} if since is None else {"created_at__gte": since}
    return Backtest.objects.filter(project=project, **asked, **of_time).order_by("-id").first()


def backtest_cancel(*, backtest: Backtest) -> bool:
    """End it after the batch it is at; what was found so far stays. False where it is over already."""
    running = Backtest.objects.filter(id=backtest.id, status__in=UNFINISHED)
    return bool(running.update(status=Backtest.Status.CANCELLED, finished_at=timezone.now()))
