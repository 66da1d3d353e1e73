"""Calls are found by the id of their answer, so that one that two traces tell of is one attempt. Spans that came before
have none: they are left as they are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0006_extents")]

    operations = [migrations.AddField("piece", "answer", models.BigIntegerField(null=True))]
