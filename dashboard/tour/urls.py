"""`/tour`: the first steps."""

from django.urls import path

from dashboard.platform.url_patterns import either
from dashboard.tour import views

app_name = "tour"

urlpatterns = [
    *either("tour", views.tour, "page"),
    path("tour/load", views.load, name="load"),
    path("tour/remove", views.remove, name="remove"),
    path("tour/key", views.key, name="key"),
]
