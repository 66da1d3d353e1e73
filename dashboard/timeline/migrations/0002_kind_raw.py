"""One more kind of action on many turns, which no database holds: it stands in the migration that made the field."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("timeline", "0001_initial")]

    operations = []
