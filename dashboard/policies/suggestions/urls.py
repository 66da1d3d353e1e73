"""`/turns/<id>/limit`: the limit that would have let a turn finish, finding it, and using it; `/turns/limits` for the
rows of a list. `/turns/<id>/replay/sweep`: one limit over a range."""

from dashboard.platform.url_patterns import either
from dashboard.policies.suggestions import sweep_views, views

app_name = "suggesting"

urlpatterns = [
    *either("turns/<uuid:turn_id>/limit", views.limit, "limit"),
    *either("turns/limits", views.cells, "cells"),
    *either("turns/<uuid:turn_id>/limit/find", views.find, "find"),
    *either("turns/<uuid:turn_id>/limit/use", views.use, "use"),
    *either("turns/<uuid:turn_id>/replay/sweep", sweep_views.sweep, "sweep"),
    *either("turns/<uuid:turn_id>/replay/policy", sweep_views.make_policy, "make_policy"),
]
