"""The database's own refusal to change history: the functions all append-only tables share, and policy versions' triggers.

Rows are deleted only where the session has said `SET LOCAL whystop.erasing = 'on'`; nothing lets them be updated.
TRUNCATE is also let through by `whystop.erasing = 'truncate'`, which lets no DELETE through: test databases are emptied
under it between tests.
"""

from django.db import migrations

FUNCTIONS = """
CREATE FUNCTION whystop_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('whystop.erasing', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % was refused', TG_ARGV[0], TG_OP
        USING ERRCODE = 'restrict_violation', HINT = 'History is only added to; a turn is erased by the service for it.';
END
$$;
CREATE FUNCTION whystop_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('whystop.erasing', true) IN ('on', 'truncate') THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only: TRUNCATE was refused', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation', HINT = 'History is only added to; a turn is erased by the service for it.';
END
$$;
"""
DROP_FUNCTIONS = "DROP FUNCTION whystop_refuse_truncate(); DROP FUNCTION whystop_refuse_change();"

#: Only who made a version may be forgotten, when that user is deleted.
TRIGGERS = """
CREATE TRIGGER refuse_update BEFORE UPDATE ON agents_policyversion FOR EACH ROW
    WHEN (NEW.created_by_id IS NOT NULL OR to_jsonb(OLD) - 'created_by_id' <> to_jsonb(NEW) - 'created_by_id')
    EXECUTE FUNCTION whystop_refuse_change('agents_policyversion');
CREATE TRIGGER refuse_delete BEFORE DELETE ON agents_policyversion
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('agents_policyversion');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON agents_policyversion
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
DROP_TRIGGERS = """
DROP TRIGGER refuse_truncate ON agents_policyversion;
DROP TRIGGER refuse_delete ON agents_policyversion;
DROP TRIGGER refuse_update ON agents_policyversion;
"""


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        migrations.RunSQL(TRIGGERS, DROP_TRIGGERS),
    ]
