"""A shadow says who began it, when and why, and later who ended it: the database refuses to have that changed.

Until it ends it moves on over the turns it has seen; a user who is deleted is forgotten here too.
"""

from django.db import migrations

STANDS = """
CREATE TRIGGER refuse_update BEFORE UPDATE ON policies_shadow FOR EACH ROW WHEN (
    to_jsonb(OLD) - ARRAY['created_by_id', 'ended_at', 'ended_by_id', 'seen_to']
        <> to_jsonb(NEW) - ARRAY['created_by_id', 'ended_at', 'ended_by_id', 'seen_to']
    OR (NEW.created_by_id IS NOT NULL AND NEW.created_by_id IS DISTINCT FROM OLD.created_by_id)
    OR (OLD.ended_at IS NOT NULL AND NEW.ended_at IS DISTINCT FROM OLD.ended_at)
    OR (OLD.ended_at IS NOT NULL AND NEW.ended_by_id IS NOT NULL
        AND NEW.ended_by_id IS DISTINCT FROM OLD.ended_by_id)
) EXECUTE FUNCTION whystop_refuse_change('policies_shadow');
CREATE TRIGGER refuse_delete BEFORE DELETE ON policies_shadow FOR EACH ROW
    EXECUTE FUNCTION whystop_refuse_change('policies_shadow');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON policies_shadow
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
NO_MORE = """
DROP TRIGGER refuse_truncate ON policies_shadow;
DROP TRIGGER refuse_delete ON policies_shadow;
DROP TRIGGER refuse_update ON policies_shadow;
"""


class Migration(migrations.Migration):
    dependencies = [("agents", "0002_append_only"), ("policies", "0003_ended_by")]

    operations = [migrations.RunSQL(STANDS, NO_MORE)]
