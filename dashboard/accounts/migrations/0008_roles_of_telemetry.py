"""Admins say where turns are sent as spans."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

GROWN = ("telemetry",)


def give(apps, _):
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for label in GROWN:
        config = apps.get_app_config(label)
        config.models_module = getattr(config, "models_module", None) or True
        create_permissions(config, verbosity=0, apps=apps)
    all_of_it = permission.objects.filter(content_type__app_label__in=GROWN)
    for admin in group.objects.filter(name="admin"):
        admin.permissions.add(*all_of_it)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_roles_of_webhooks"),
        ("telemetry", "0001_initial"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
