"""Operators make keys of the gateway and see their own; admins see all of them, and the names callers may use."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

OPERATING = ("add_gatewaykey",)
GROWN = ("gateway",)


def give(apps, _):
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for label in GROWN:
        config = apps.get_app_config(label)
        config.models_module = getattr(config, "models_module", None) or True
        create_permissions(config, verbosity=0, apps=apps)
    all_of_it = permission.objects.filter(content_type__app_label__in=GROWN)
    for operator in group.objects.filter(name="operator"):
        operator.permissions.add(*all_of_it.filter(codename__in=OPERATING))
    for admin in group.objects.filter(name="admin"):
        admin.permissions.add(*all_of_it)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_roles_of_policies"),
        ("gateway", "0001_keys_and_calls"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
