"""`/metrics-board`: turns over time."""

from dashboard.board import views
from dashboard.platform.url_patterns import either

app_name = "board"

urlpatterns = either("metrics-board", views.board, "board")
