"""`/backtests/track-record`: how often what-ifs came true."""

from dashboard.predictions import views
from dashboard.turns.urls import either

app_name = "predictions"

urlpatterns = [
    *either("backtests/track-record", views.index, "index"),
    *either("backtests/track-record/<uuid:prediction_id>/check", views.check, "check"),
]
