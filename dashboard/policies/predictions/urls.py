"""`/backtests/track-record`: how often what-ifs came true."""

from dashboard.platform.url_patterns import either
from dashboard.policies.predictions import views

app_name = "predictions"

urlpatterns = [
    *either("backtests/track-record", views.index, "index"),
    *either("backtests/track-record/<uuid:prediction_id>/check", views.check, "check"),
]
