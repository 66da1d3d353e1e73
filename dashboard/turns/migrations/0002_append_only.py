"""Turns' history is only added to; an attempt that has ended does not change any more.

The functions, and what lets a deletion through, are in `agents/migrations/0002_append_only.py`. Triggers on rows of a
partitioned table hold for its pieces, present and future; those on TRUNCATE are made for each piece.
"""

from django.db import migrations

APPEND_ONLY = ("turns_record", "turns_attemptchunk", "turns_outcome", "turns_turnmessage")
PARTITIONED = ("turns_record", "turns_attempt", "turns_attemptchunk", "turns_outcome")
UNTRUNCATED = (*APPEND_ONLY, "turns_attempt", *(f"{table}_default" for table in PARTITIONED))

REFUSE_CHANGE = """
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('{table}');
"""
REFUSE_TRUNCATE = """
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
ATTEMPTS = """
CREATE TRIGGER refuse_change BEFORE DELETE ON turns_attempt
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('turns_attempt');
CREATE TRIGGER refuse_change_once_ended BEFORE UPDATE ON turns_attempt
    FOR EACH ROW WHEN (OLD.duration_ms IS NOT NULL)
    EXECUTE FUNCTION whystop_refuse_change('An attempt that has ended');
"""
DROP_ATTEMPTS = """
DROP TRIGGER refuse_change_once_ended ON turns_attempt;
DROP TRIGGER refuse_change ON turns_attempt;
"""


class Migration(migrations.Migration):
    dependencies = [("turns", "0001_initial"), ("agents", "0002_append_only")]

    operations = [
        *(
            migrations.RunSQL(REFUSE_CHANGE.format(table=table), f"DROP TRIGGER refuse_change ON {table}")
            for table in APPEND_ONLY
        ),
        migrations.RunSQL(ATTEMPTS, DROP_ATTEMPTS),
        *(
            migrations.RunSQL(REFUSE_TRUNCATE.format(table=table), f"DROP TRIGGER refuse_truncate ON {table}")
            for table in UNTRUNCATED
        ),
    ]
