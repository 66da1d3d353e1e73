"""`/turns/<id>/share`, and `/share/<token>`, which anyone may open who has the token."""

from django.urls import path, re_path

from dashboard.exports.share_links import views
from dashboard.platform.url_patterns import either

app_name = "sharing"

urlpatterns = [
    *either("turns/<uuid:turn_id>/share", views.manage, "manage"),
    *either("turns/<uuid:turn_id>/share/<int:link_id>/revoke", views.revoke, "revoke"),
    path("share/<str:token>", views.shared, name="shared"),
    re_path(r"^share(?:/[\s\S]*)?$", views.shared),  # whatever else is asked for below it: the same words
]
