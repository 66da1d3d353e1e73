"""`/timeline/export`: the turns that the timeline shows, as a file."""

from django.urls import path

from dashboard.exports import views

app_name = "exports"

urlpatterns = [path("timeline/export", views.export, name="export")]
