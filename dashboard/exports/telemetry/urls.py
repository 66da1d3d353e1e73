"""`/telemetry/`: where turns are sent as spans and metrics."""

from django.urls import path

from dashboard.exports.telemetry import views

app_name = "telemetry"

urlpatterns = [path("", views.page, name="page")]
