"""`/docs/`: the documents."""

from django.urls import path
from django.views.generic import RedirectView

from dashboard.documentation import views

app_name = "docs"
urlpatterns = [
    path("docs", RedirectView.as_view(pattern_name="docs:index", permanent=True)),
    path("docs/", views.index, name="index"),
    path("docs/<path:name>", views.page, name="page"),
]
