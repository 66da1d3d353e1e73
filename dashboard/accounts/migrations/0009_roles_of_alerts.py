"""Operators and admins make alerts."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

GROWN = ("alerting",)


def give_alerts(apps, _):
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for label in GROWN:
        config = apps.get_app_config(label)
        config.models_module = getattr(config, "models_module", None) or True
        create_permissions(config, verbosity=0, apps=apps)
    of_alerts = permission.objects.filter(content_type__app_label__in=GROWN)
    for operator in group.objects.filter(name="operator"):
        operator.permissions.add(*of_alerts.filter(codename="add_alert"))
    for admin in group.objects.filter(name="admin"):
        admin.permissions.add(*of_alerts)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_roles_of_telemetry"),
        ("alerting", "0001_alerts"),
    ]

    operations = [migrations.RunPython(give_alerts, migrations.RunPython.noop)]
