"""`/compare`."""

from dashboard.comparing import views
from dashboard.turns.urls import either

app_name = "comparing"

urlpatterns = either("compare", views.page, "page")
