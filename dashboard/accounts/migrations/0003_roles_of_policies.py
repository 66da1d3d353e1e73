"""Admins also look after what policies have grown: activations, attachments, what is kept of changes, shadows."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

GROWN = ("agents", "policies")


def give_admins(apps, _):
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for label in GROWN:
        config = apps.get_app_config(label)
        config.models_module = getattr(config, "models_module", None) or True
        create_permissions(config, verbosity=0, apps=apps)
    for admin in group.objects.filter(name="admin"):
        admin.permissions.add(*permission.objects.filter(content_type__app_label__in=GROWN))


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_roles"),
        ("agents", "0009_changes_of_limits"),
        ("policies", "0001_shadows"),
    ]

    operations = [migrations.RunPython(give_admins, migrations.RunPython.noop)]
