"""The permissions of turns have clearer names. `migrate` creates the missing ones and renames none, so they are renamed."""

from typing import Any

from django.db import migrations

NAMES = (
    ("start_turn", "Start a turn, talk to an agent"),
    ("control_turn", "Hold, release, step, change or cancel a turn"),
    ("replay_turn", "Re-run turns and backtest policies"),
    ("tag_turn", "Tag turns"),
    ("comment_turn", "Comment on a turn"),
    ("share_turn", "Share a turn by a link"),
    ("export_turn", "Export turns as files"),
    ("import_turn", "Import turns from files"),
    ("keep_view", "Save timeline views"),
)


def rename(apps: Any, _editor: Any) -> None:
    permissions = apps.get_model("auth", "Permission").objects.filter(content_type__app_label="turns")
    for codename, name in NAMES:
        permissions.filter(codename=codename).update(name=name)


class Migration(migrations.Migration):
    dependencies = [("auth", "0012_alter_user_first_name_max_length"), ("turns", "0031_words_by_pattern")]

    operations = [
        migrations.AlterModelOptions(name="turn", options={"permissions": NAMES}),
        migrations.RunPython(rename, migrations.RunPython.noop),
    ]
