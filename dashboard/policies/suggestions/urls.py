"""`/turns/<id>/limit`: the limit that would have let a turn finish, finding it, and using it."""

from dashboard.platform.url_patterns import either
from dashboard.policies.suggestions import views

app_name = "suggesting"

urlpatterns = [
    *either("turns/<uuid:turn_id>/limit", views.limit, "limit"),
    *either("turns/<uuid:turn_id>/limit/cell", views.cell, "cell"),
    *either("turns/<uuid:turn_id>/limit/find", views.find, "find"),
    *either("turns/<uuid:turn_id>/limit/use", views.use, "use"),
]
