"""Events that no worker comes for are bounded. Who notes one, drops the oldest beyond the most, a thousand at a time.

One at a time counts, by a lock that nobody waits for; events that a worker is about to tell are passed over.
"""

from django.db import migrations, models

BOUND = """
CREATE FUNCTION whystop_bound_notes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
    gone bigint;
BEGIN
    SELECT last_value INTO newest FROM webhooks_happened_id_seq;
    IF NOT EXISTS (SELECT FROM webhooks_happened WHERE id <= newest - 101000)
       OR NOT pg_try_advisory_xact_lock(7260431122) THEN
        RETURN NULL;
    END IF;
    WITH beyond AS (
        SELECT id FROM webhooks_happened WHERE id <= newest - 100000 ORDER BY id LIMIT 10000 FOR UPDATE SKIP LOCKED
    ), dropped AS (
        DELETE FROM webhooks_happened WHERE id IN (SELECT id FROM beyond) RETURNING id
    ) SELECT count(*) INTO gone FROM dropped;
    INSERT INTO webhooks_droppedevents AS counted (id, events, at) VALUES (1, gone, now())
        ON CONFLICT (id) DO UPDATE SET events = counted.events + excluded.events, at = excluded.at;
    RETURN NULL;
END
$$;
CREATE TRIGGER bound_notes AFTER INSERT ON webhooks_happened FOR EACH STATEMENT EXECUTE FUNCTION whystop_bound_notes();
"""
DROP_BOUND = "DROP TRIGGER bound_notes ON webhooks_happened; DROP FUNCTION whystop_bound_notes();"


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0002_waiting_is_bounded"),
    ]

    operations = [
        migrations.CreateModel(
            name="DroppedEvents",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("events", models.PositiveBigIntegerField(default=0)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.RunSQL(BOUND, DROP_BOUND),
    ]
