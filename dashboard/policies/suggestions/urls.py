"""`/turns/<id>/limit`: the limit that would have let a turn finish, finding it, and using it; `/turns/limits` for the
rows of a list."""

from dashboard.platform.url_patterns import either
from dashboard.policies.suggestions import views

app_name = "suggesting"

urlpatterns = [
    *either("turns/<uuid:turn_id>/limit", views.limit, "limit"),
    *either("turns/limits", views.cells, "cells"),
    *either("turns/<uuid:turn_id>/limit/find", views.find, "find"),
    *either("turns/<uuid:turn_id>/limit/use", views.use, "use"),
]
