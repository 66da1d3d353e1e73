"""Roles, as groups: watcher, operator, admin. Who was there before keeps what they could do: they become operators.

Permissions are made after all migrations; those that are given here are made now. What a role may is said once, when
it is made: whoever changes a group in the admin finds it changed.
"""

from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.models import Q

WATCHING = ("export_turn",)
OPERATING = (
    "start_turn",
    "control_turn",
    "replay_turn",
    "tag_turn",
    "comment_turn",
    "share_turn",
    "export_turn",
    "import_turn",
    "keep_view",
)
ERASING = "delete_turn"  # Django's own
ADMINISTERED = ("accounts", "agents", "tools", "sharing", "commenting")


def make_roles(apps, _):
    for label in ("turns", *ADMINISTERED):
        config = apps.get_app_config(label)
        config.models_module = getattr(config, "models_module", None) or True
        create_permissions(config, verbosity=0, apps=apps)
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    turns = Q(content_type__app_label="turns")
    given = {
        "watcher": turns & Q(codename__in=WATCHING),
        "operator": turns & Q(codename__in=OPERATING),
        "admin": turns & Q(codename__in=(*OPERATING, ERASING)) | Q(content_type__app_label__in=ADMINISTERED),
    }
    for name, which in given.items():
        role, made = group.objects.get_or_create(name=name)
        if made:
            role.permissions.set(permission.objects.filter(which))


def give_operator(apps, _):
    operator = apps.get_model("auth", "Group").objects.get(name="operator")
    for user in apps.get_model("accounts", "User").objects.filter(is_superuser=False):
        user.groups.add(operator)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("agents", "0005_connection_prefill"),
        ("commenting", "0001_initial"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("sharing", "0001_initial"),
        ("tools", "0001_initial"),
        ("turns", "0004_conversation"),
    ]

    operations = [
        migrations.RunPython(make_roles, migrations.RunPython.noop),
        migrations.RunPython(give_operator, migrations.RunPython.noop),
    ]
