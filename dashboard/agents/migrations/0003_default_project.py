"""The one project everything belongs to at first."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def make(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("agents", "Project").objects.using(schema_editor.connection.alias).get_or_create(name="default")


class Migration(migrations.Migration):
    dependencies = [("agents", "0002_append_only")]

    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
