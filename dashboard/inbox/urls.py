"""`/inbox`: what needs a person."""

from dashboard.inbox import views
from dashboard.platform.url_patterns import either

app_name = "inbox"

urlpatterns = [
    *either("inbox", views.page, "page"),
    *either("inbox/<uuid:notice_id>/seen", views.see, "see"),
]
