"""Minutes with answers that were requested again are summed anew: truncated ones among them count as truncated."""

from django.db import migrations

NOTE = """
INSERT INTO timeline_changedminute (project_id, minute)
SELECT DISTINCT rollup.project_id, rollup.start FROM timeline_rollup rollup
  JOIN turns_cohort cohort ON cohort.id = rollup.cohort
 WHERE rollup.seconds = 60 AND (cohort.repair OR cohort.envelope_retry) ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("board", "0001_sums"),
        ("timeline", "0003_changed_minutes"),
        ("turns", "0027_answers_with_attempts"),
    ]

    operations = [migrations.RunSQL(NOTE, migrations.RunSQL.noop)]
