from django.urls import path

from dashboard.accounts.audit import views

app_name = "audit"
urlpatterns = [
    path("audit/", views.log, name="log"),
    path("audit/file", views.file, name="file"),
]
