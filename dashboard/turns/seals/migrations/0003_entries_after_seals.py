"""No entry of the audit log is dated in a period that is sealed already, whatever the clock of its writer says.

Writers share a lock, which a seal takes alone for a moment: whoever writes after that sees the seal.
"""

from django.db import migrations

LATER = """
CREATE FUNCTION whystop_date_after_audit_seals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7316006);
    NEW.at := greatest(
        least(NEW.at, clock_timestamp()),
        (SELECT until + interval '1 microsecond' FROM sealing_auditseal ORDER BY number DESC LIMIT 1)
    );
    RETURN NEW;
END
$$;
CREATE TRIGGER date_after_seals BEFORE INSERT ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION whystop_date_after_audit_seals();
"""
NO_MORE = """
DROP TRIGGER date_after_seals ON audit_entry;
DROP FUNCTION whystop_date_after_audit_seals();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sealing", "0002_audit_seals"),
        ("audit", "0003_by_time"),
    ]

    operations = [migrations.RunSQL(LATER, NO_MORE)]
