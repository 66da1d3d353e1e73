"""`/backtests`: a draft policy tried over the turns of a timeline."""

from collections.abc import Callable

from django.http.response import HttpResponseBase
from django.urls import path
from django.views.generic import RedirectView

from dashboard.platform.url_patterns import either
from dashboard.policies import draft_views, limit_views
from dashboard.policies.backtests import views
from dashboard.policies.predictions import live_views

app_name = "backtests"


def _moved(name: str) -> Callable[..., HttpResponseBase]:
    return RedirectView.as_view(pattern_name=f"backtests:{name}", query_string=True)


urlpatterns = [
    *either("backtests", views.index, "index"),
    *either("backtests/new", views.start, "start"),
    *either("backtests/draft", draft_views.draft, "draft"),
    *either("backtests/limits", limit_views.limits, "limits"),
    *either("backtests/limits/map", limit_views.sweep_map, "map"),
    *either("backtests/limits/keep", limit_views.keep, "keep"),
    *either("backtests/<uuid:backtest_id>", views.show, "show"),
    *either("backtests/<uuid:backtest_id>/cancel", views.cancel, "cancel"),
    *either("backtests/<uuid:backtest_id>/live", live_views.of_backtest, "live"),
    # Where they were before they had pages of their own.
    path("timeline/backtest", _moved("start")),
    path("timeline/backtests/<uuid:backtest_id>", _moved("show")),
]
