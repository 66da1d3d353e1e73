"""`/metrics-board`: turns over time."""

from dashboard.board import views
from dashboard.turns.urls import either

app_name = "board"

urlpatterns = either("metrics-board", views.board, "board")
