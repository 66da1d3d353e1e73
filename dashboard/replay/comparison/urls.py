"""`/compare`."""

from dashboard.platform.url_patterns import either
from dashboard.replay.comparison import views

app_name = "comparing"

urlpatterns = either("compare", views.page, "page")
