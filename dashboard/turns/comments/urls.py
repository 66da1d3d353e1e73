"""`/turns/<id>/comments` and what can be done there."""

from dashboard.platform.url_patterns import either
from dashboard.turns.comments import views

app_name = "commenting"

urlpatterns = [
    *either("turns/<uuid:turn_id>/comments", views.add, "add"),
    *either("turns/<uuid:turn_id>/comments/<uuid:comment_id>/edit", views.edit, "edit"),
    *either("turns/<uuid:turn_id>/comments/<uuid:comment_id>/delete", views.delete, "delete"),
]
