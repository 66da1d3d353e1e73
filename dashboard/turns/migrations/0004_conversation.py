"""Turns may belong to a conversation, and what may be done to turns has names.

Both columns are null and unchecked, so the table is not rewritten, nor its rows read for them; the index, of turns in
conversations alone, is empty at first.
"""

import django.db.models.deletion
from django.db import migrations, models

PERMISSIONS = (
    ("start_turn", "Start a turn, talk to an agent"),
    ("control_turn", "Hold, release, step, change or cancel a turn"),
    ("replay_turn", "Run a turn again, try a policy on many"),
    ("tag_turn", "Put tags on turns"),
    ("comment_turn", "Comment on a turn"),
    ("share_turn", "Share a turn by a link"),
    ("export_turn", "Export turns as files"),
    ("import_turn", "Import turns from files"),
    ("keep_view", "Keep views of the timeline"),
)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0001_initial"), ("turns", "0003_timeline")]

    operations = [
        migrations.AlterModelOptions("turn", {"permissions": PERMISSIONS}),
        migrations.AddField(
            "turn",
            "conversation",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="turns",
                to="conversations.conversation",
            ),
        ),
        migrations.AddField("turn", "position", models.IntegerField(null=True)),
        migrations.AddConstraint(
            "turn",
            models.UniqueConstraint(
                fields=["conversation", "position"],
                condition=models.Q(conversation__isnull=False),
                name="turns_turn_in_conversation",
            ),
        ),
    ]
