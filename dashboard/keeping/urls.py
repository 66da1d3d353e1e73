"""`/import`, `/export`."""

from dashboard.keeping import views
from dashboard.turns.urls import either

app_name = "keeping"

urlpatterns = [*either("import", views.page, "import"), *either("export", views.export, "export")]
