"""`/import`, `/export`."""

from dashboard.ingest.turn_files import views
from dashboard.platform.url_patterns import either

app_name = "keeping"

urlpatterns = [*either("import", views.page, "import"), *either("export", views.export, "export")]
