"""What the timeline is filtered by: tags, the last failure, all tokens; cohorts, and terms beside the words of a text.

A turn's cohort is looked up, or made, by a trigger. Only who makes a new one may have to wait, for whoever makes the
same one; that happens once in a cohort's life.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

SEARCHED = (
    "id", "input_text", "output_text", "stop_reason", "model_stop_reason", "status", "provider", "model",
    "agent_name", "error_type", "continuations", "tool_repairs", "envelope_retries", "tags", "input_tokens",
    "output_tokens", "duration_ms",
)  # fmt: skip

#: Terms begin with U+0001, which no word has; what they mean is in `dashboard.turns.search_terms`. A text vector holds at most
#: 1 MB, which four-byte characters could fill: so much of a text is searched.
SEARCH = r"""
CREATE FUNCTION whystop_search(
    id uuid, input_text text, output_text text, stop_reason text, model_stop_reason text, status text, provider text,
    model text, agent_name text, error_type text, continuations integer, tool_repairs integer,
    envelope_retries integer, tags text[], input_tokens bigint, output_tokens bigint, duration_ms bigint
) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    hex text := translate(id::text, '-', '');
    terms text[] := array_remove(ARRAY[
        E'\001stop_reason:' || left(stop_reason, 200),
        E'\001model_stop_reason:' || left(model_stop_reason, 200),
        E'\001status:' || left(status, 200),
        E'\001provider:' || left(provider, 200),
        E'\001model:' || left(model, 200),
        E'\001agent:' || left(agent_name, 200),
        E'\001error_type:' || left(error_type, 200),
        CASE WHEN continuations > 0 THEN E'\001has:continuation' END,
        CASE WHEN tool_repairs > 0 THEN E'\001has:repair' END,
        CASE WHEN envelope_retries > 0 THEN E'\001has:envelope_retry' END,
        E'\001tokens:' || least(16, (length(ltrim((input_tokens + output_tokens)::bit(64)::text, '0')) + 1) / 2),
        E'\001duration_ms:' || least(16, (length(ltrim(duration_ms::bit(64)::text, '0')) + 1) / 2),
        E'\001at:' || left(hex, 5), E'\001at:' || left(hex, 6), E'\001at:' || left(hex, 7), E'\001at:' || left(hex, 8)
    ], NULL);
    tag text;
BEGIN
    FOREACH tag IN ARRAY tags LOOP
        terms := terms || (E'\001tag:' || left(tag, 200));
    END LOOP;
    RETURN array_to_tsvector(terms) || to_tsvector(
        'pg_catalog.simple'::regconfig, left(input_text, 80000) || ' ' || left(output_text, 120000));
END
$$;
"""

COHORT = """
CREATE FUNCTION whystop_cohort() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    digest uuid := md5(jsonb_build_array(
        NEW.project_id, NEW.stop_reason, NEW.model_stop_reason, NEW.status, NEW.provider, NEW.model, NEW.agent_name,
        NEW.error_type, NEW.continuations > 0, NEW.tool_repairs > 0, NEW.envelope_retries > 0)::text)::uuid;
BEGIN
    SELECT cohort.id INTO NEW.cohort FROM turns_cohort cohort WHERE cohort.key = digest;
    IF NEW.cohort IS NULL THEN
        INSERT INTO turns_cohort (project_id, stop_reason, model_stop_reason, status, provider, model, agent_name,
                                  error_type, continuation, repair, envelope_retry, key)
        VALUES (NEW.project_id, NEW.stop_reason, NEW.model_stop_reason, NEW.status, NEW.provider, NEW.model,
                NEW.agent_name, NEW.error_type, NEW.continuations > 0, NEW.tool_repairs > 0, NEW.envelope_retries > 0,
                digest)
        ON CONFLICT (key) DO NOTHING;
        SELECT cohort.id INTO STRICT NEW.cohort FROM turns_cohort cohort WHERE cohort.key = digest;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER cohort BEFORE INSERT OR UPDATE ON turns_turn FOR EACH ROW EXECUTE FUNCTION whystop_cohort();
"""
DROP_COHORT = "DROP TRIGGER cohort ON turns_turn; DROP FUNCTION whystop_cohort();"

#: Any update lets the trigger fill the new column.
#: An index is not made while checks of changed rows are put off, so they are made at once.
FILL = "SET CONSTRAINTS ALL IMMEDIATE; UPDATE turns_turn SET cohort = NULL"

#: Turns are found by cohort now.
REPLACED = (
    "turns_turn_timeline",
    "turns_turn_status",
    "turns_turn_stop_reason",
    "turns_turn_model_stop",
    "turns_turn_model",
)


class Migration(migrations.Migration):
    dependencies = [("turns", "0002_append_only"), ("agents", "0003_default_project")]

    operations = [
        migrations.CreateModel(
            name="Cohort",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("stop_reason", models.TextField(null=True)),
                ("model_stop_reason", models.TextField(null=True)),
                ("status", models.TextField()),
                ("provider", models.TextField()),
                ("model", models.TextField()),
                ("agent_name", models.TextField()),
                ("error_type", models.TextField(null=True)),
                ("continuation", models.BooleanField()),
                ("repair", models.BooleanField()),
                ("envelope_retry", models.BooleanField()),
                ("key", models.UUIDField(unique=True)),
                (
                    "project",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="agents.project"),
                ),
            ],
            options={"indexes": [models.Index(fields=["project", "model"], name="turns_cohort_model")]},
        ),
        migrations.AddField("turn", "error_type", models.TextField(null=True)),
        migrations.AddField(
            "turn",
            "tags",
            django.contrib.postgres.fields.ArrayField(models.TextField(), blank=True, default=list, size=None),
        ),
        migrations.AddField("turn", "cohort", models.IntegerField(editable=False, null=True)),
        migrations.AddField(
            "turn",
            "tokens",
            models.GeneratedField(
                db_persist=True,
                expression=models.F("input_tokens") + models.F("output_tokens"),
                output_field=models.BigIntegerField(),
            ),
        ),
        *(migrations.RemoveIndex("turn", name) for name in (*REPLACED, "turns_turn_search")),
        migrations.RemoveField("turn", "search"),
        migrations.RunSQL(SEARCH, "DROP FUNCTION whystop_search"),
        migrations.AddField(
            "turn",
            "search",
            models.GeneratedField(
                db_persist=True,
                expression=models.Func(*SEARCHED, function="whystop_search"),
                output_field=django.contrib.postgres.search.SearchVectorField(),
            ),
        ),
        migrations.RunSQL(COHORT, DROP_COHORT),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            "turn",
            django.contrib.postgres.indexes.GinIndex(
                fields=["search"], gin_pending_list_limit=512, name="turns_turn_search"
            ),
        ),
        migrations.AddIndex(
            "turn",
            models.Index(
                fields=["project", "-id"], include=["cohort", "tokens", "duration_ms"], name="turns_turn_walk"
            ),
        ),
        migrations.AddIndex(
            "turn",
            models.Index(fields=["cohort", "-id"], include=["tokens", "duration_ms"], name="turns_turn_cohort"),
        ),
        migrations.AddIndex(
            "turn",
            models.Index(
                fields=["project", "tokens"], include=["id", "cohort", "duration_ms"], name="turns_turn_tokens"
            ),
        ),
        migrations.AddIndex(
            "turn",
            models.Index(
                fields=["project", "duration_ms"], include=["id", "cohort", "tokens"], name="turns_turn_duration"
            ),
        ),
        migrations.AddIndex(
            "turn",
            models.Index(
                fields=["project", "-id"],
                include=["cohort", "tokens", "duration_ms"],
                condition=models.Q(("tags", []), _negated=True),
                name="turns_turn_tagged",
            ),
        ),
    ]
