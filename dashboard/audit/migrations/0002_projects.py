"""Entries name the project they belong to, from here on. Without a lock that writers would notice: the column is empty
for what is there, and the index is made beside them."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("audit", "0001_initial"),
    ]

    operations = [
        migrations.AddField("entry", "project_id", models.UUIDField(editable=False, null=True)),
        AddIndexConcurrently("entry", models.Index(fields=["project_id", "-id"], name="audit_entry_project")),
    ]
