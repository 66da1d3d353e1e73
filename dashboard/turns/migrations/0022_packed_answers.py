"""Raw answers compressed. What a column may hold is told apart by who reads it, so no row is written anew."""

from django.db import migrations

import dashboard.turns.record_compression


class Migration(migrations.Migration):
    dependencies = [("turns", "0021_packed_records")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [], [migrations.AlterField("attemptchunk", "raw", dashboard.turns.record_compression.RawField())]
        )
    ]
