"""Activations and attachments of policies, why a version was made, and who changed what: the database's own account.

Every version there is was, from the moment it was made until the next, what its policy said: it gets that activation.
"""

import django.core.validators
import django.db.models.deletion
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import dashboard.agents.policy_validation
import dashboard.agents.validation
import dashboard.platform.ids

ONLY_ADDED_TO = """
CREATE TRIGGER refuse_update BEFORE UPDATE ON {table} FOR EACH ROW {when}
    EXECUTE FUNCTION whystop_refuse_change('{table}');
CREATE TRIGGER refuse_delete BEFORE DELETE ON {table} FOR EACH ROW
    EXECUTE FUNCTION whystop_refuse_change('{table}');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
NO_MORE = """
DROP TRIGGER refuse_truncate ON {table};
DROP TRIGGER refuse_delete ON {table};
DROP TRIGGER refuse_update ON {table};
"""
#: Who activated may be forgotten with that user; a schedule may be withdrawn, once, before it starts.
ACTIVATION_CHANGED = """WHEN (
    to_jsonb(OLD) - ARRAY['created_by_id', 'withdrawn_at', 'withdrawn_by']
        <> to_jsonb(NEW) - ARRAY['created_by_id', 'withdrawn_at', 'withdrawn_by']
    OR (NEW.created_by_id IS NOT NULL AND NEW.created_by_id IS DISTINCT FROM OLD.created_by_id)
    OR ((NEW.withdrawn_at, NEW.withdrawn_by) IS DISTINCT FROM (OLD.withdrawn_at, OLD.withdrawn_by)
        AND (OLD.withdrawn_at IS NOT NULL OR OLD.starts_at <= clock_timestamp()))
)"""
GUARDED = {
    "agents_policyactivation": ACTIVATION_CHANGED,
    "agents_agentchange": "",
    "agents_connectionchange": "",
    "agents_policyattachmentchange": "",
}
AS_BEFORE = """
INSERT INTO agents_policyactivation
       (id, policy_id, version_id, starts_at, why, created_at, created_by_id, withdrawn_by)
SELECT gen_random_uuid(), policy_id, id, created_at, '', created_at, created_by_id, '' FROM agents_policyversion
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0007_connection_limits"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentChange",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("id", models.UUIDField(default=dashboard.platform.ids.new_id, editable=False, serialize=False)),
                ("name", models.CharField(max_length=64, validators=[dashboard.agents.validation.name_valid])),
                ("model", models.CharField(help_text="The model name that is sent to the provider.", max_length=200)),
                ("system_prompt", models.TextField(blank=True, default="")),
                (
                    "max_tokens",
                    models.PositiveIntegerField(
                        help_text="The most output tokens of one call, reasoning tokens included."
                    ),
                ),
                ("tools", models.JSONField(blank=True, default=list)),
                (
                    "envelope_schema",
                    models.JSONField(
                        blank=True,
                        help_text="The JSON Schema that the answer must satisfy. Leave empty for free text.",
                        null=True,
                        validators=[dashboard.agents.validation.json_schema_valid],
                    ),
                ),
                (
                    "gateway_mode",
                    models.CharField(
                        choices=[("observe", "observe"), ("continue", "continue")],
                        default="continue",
                        error_messages={"invalid_choice": "“%(value)s” is not one of the choices."},
                        help_text="observe: the gateway only records the agent's calls. continue: it also continues truncated answers.",
                        max_length=16,
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ConnectionChange",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("id", models.UUIDField(default=dashboard.platform.ids.new_id, editable=False, serialize=False)),
                ("name", models.CharField(max_length=64, validators=[dashboard.agents.validation.name_valid])),
                ("provider", models.CharField(max_length=64, validators=[dashboard.agents.validation.provider_valid])),
                (
                    "base_url",
                    models.CharField(
                        help_text="The base URL, as the provider's own client library takes it: with /v1 for OpenAI, without it for Anthropic and Gemini.",
                        max_length=500,
                        validators=[dashboard.agents.validation.base_url_valid],
                        verbose_name="address",
                    ),
                ),
                (
                    "api_key_env",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The name of the environment variable that holds the API key, such as OPENAI_API_KEY. Never enter the key itself. Leave empty to send no key; Bedrock calls are signed with the environment's AWS credentials.",
                        max_length=128,
                        validators=[dashboard.agents.validation.api_key_env_valid],
                        verbose_name="API key variable",
                    ),
                ),
                (
                    "max_output_tokens",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="The most output tokens that one call may request. Leave empty if unknown.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1, "It must be at least 1 token.")],
                    ),
                ),
                (
                    "context_window",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Input and output tokens of one call together. Leave empty if unknown.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1, "It must be at least 1 token.")],
                    ),
                ),
                (
                    "hint_role",
                    models.CharField(
                        choices=[("system", "system"), ("user", "user")],
                        default="system",
                        error_messages={"invalid_choice": "“%(value)s” is not one of the choices."},
                        help_text="The role of the hint that asks the model to continue. Select user if the server rejects system.",
                        max_length=16,
                    ),
                ),
                (
                    "max_tokens_field",
                    models.CharField(
                        choices=[("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")],
                        default="max_tokens",
                        error_messages={"invalid_choice": "“%(value)s” is not one of the choices."},
                        help_text="The field that limits the output (OpenAI-style). Reasoning models need max_completion_tokens.",
                        max_length=32,
                    ),
                ),
                (
                    "prefill",
                    models.BooleanField(
                        default=False,
                        help_text="The model continues a truncated answer in place, without a hint, when it is the last message. Test the connection to find out: other servers return an error or start the answer again.",
                        verbose_name="continues exactly",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="PolicyActivation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("why", models.TextField(blank=True, default="")),
                ("evidence", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.TextField(blank=True, default="")),
            ],
            options={
                "ordering": ["-starts_at", "-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="PolicyAttachment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "model",
                    models.CharField(
                        blank=True, default="", help_text="The model name that is sent to the provider.", max_length=200
                    ),
                ),
                ("provider", models.CharField(blank=True, default="", max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="PolicyAttachmentChange",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("id", models.UUIDField(default=dashboard.platform.ids.new_id, editable=False, serialize=False)),
                (
                    "model",
                    models.CharField(
                        blank=True, default="", help_text="The model name that is sent to the provider.", max_length=200
                    ),
                ),
                ("provider", models.CharField(blank=True, default="", max_length=64)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddField(
            model_name="policyversion",
            name="why",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="policyversion",
            name="tool_calls_on_truncation",
            field=models.TextField(
                blank=True, default="", validators=[dashboard.agents.policy_validation.tool_calls_on_truncation_valid]
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="agent",
            trigger=pgtrigger.compiler.Trigger(
                name="made_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "agents_agentchange" ("connection_id", "envelope_schema", "gateway_mode", "id", "max_tokens", "model", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy_id", "project_id", "system_prompt", "tools") VALUES (NEW."connection_id", NEW."envelope_schema", NEW."gateway_mode", NEW."id", NEW."max_tokens", NEW."model", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'made\', NEW."id", NEW."policy_id", NEW."project_id", NEW."system_prompt", NEW."tools"); RETURN NULL;',
                    hash="cd3c54de5eef2dccc6b91b5a582864df26d1a9a4",
                    operation="INSERT",
                    pgid="pgtrigger_made_insert_d39d4",
                    table="agents_agent",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="agent",
            trigger=pgtrigger.compiler.Trigger(
                name="changed_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."connection_id" IS DISTINCT FROM (NEW."connection_id") OR OLD."envelope_schema" IS DISTINCT FROM (NEW."envelope_schema") OR OLD."gateway_mode" IS DISTINCT FROM (NEW."gateway_mode") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."max_tokens" IS DISTINCT FROM (NEW."max_tokens") OR OLD."model" IS DISTINCT FROM (NEW."model") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."policy_id" IS DISTINCT FROM (NEW."policy_id") OR OLD."project_id" IS DISTINCT FROM (NEW."project_id") OR OLD."system_prompt" IS DISTINCT FROM (NEW."system_prompt") OR OLD."tools" IS DISTINCT FROM (NEW."tools"))',
                    func='INSERT INTO "agents_agentchange" ("connection_id", "envelope_schema", "gateway_mode", "id", "max_tokens", "model", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy_id", "project_id", "system_prompt", "tools") VALUES (NEW."connection_id", NEW."envelope_schema", NEW."gateway_mode", NEW."id", NEW."max_tokens", NEW."model", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'changed\', NEW."id", NEW."policy_id", NEW."project_id", NEW."system_prompt", NEW."tools"); RETURN NULL;',
                    hash="4f86f0f0da46374b8be02ecb2dab43d45857270d",
                    operation="UPDATE",
                    pgid="pgtrigger_changed_update_0242a",
                    table="agents_agent",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="agent",
            trigger=pgtrigger.compiler.Trigger(
                name="deleted_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "agents_agentchange" ("connection_id", "envelope_schema", "gateway_mode", "id", "max_tokens", "model", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy_id", "project_id", "system_prompt", "tools") VALUES (OLD."connection_id", OLD."envelope_schema", OLD."gateway_mode", OLD."id", OLD."max_tokens", OLD."model", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'deleted\', OLD."id", OLD."policy_id", OLD."project_id", OLD."system_prompt", OLD."tools"); RETURN NULL;',
                    hash="eccf094434fc203ece085641b41b69709ba586a1",
                    operation="DELETE",
                    pgid="pgtrigger_deleted_delete_54fa3",
                    table="agents_agent",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="connection",
            trigger=pgtrigger.compiler.Trigger(
                name="made_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "agents_connectionchange" ("api_key_env", "base_url", "context_window", "hint_role", "id", "max_output_tokens", "max_tokens_field", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefill", "project_id", "provider") VALUES (NEW."api_key_env", NEW."base_url", NEW."context_window", NEW."hint_role", NEW."id", NEW."max_output_tokens", NEW."max_tokens_field", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'made\', NEW."id", NEW."prefill", NEW."project_id", NEW."provider"); RETURN NULL;',
                    hash="ec08263b1b2c8350869e5c727815beee5eb36973",
                    operation="INSERT",
                    pgid="pgtrigger_made_insert_31a37",
                    table="agents_connection",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="connection",
            trigger=pgtrigger.compiler.Trigger(
                name="changed_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."api_key_env" IS DISTINCT FROM (NEW."api_key_env") OR OLD."base_url" IS DISTINCT FROM (NEW."base_url") OR OLD."context_window" IS DISTINCT FROM (NEW."context_window") OR OLD."hint_role" IS DISTINCT FROM (NEW."hint_role") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."max_output_tokens" IS DISTINCT FROM (NEW."max_output_tokens") OR OLD."max_tokens_field" IS DISTINCT FROM (NEW."max_tokens_field") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."prefill" IS DISTINCT FROM (NEW."prefill") OR OLD."project_id" IS DISTINCT FROM (NEW."project_id") OR OLD."provider" IS DISTINCT FROM (NEW."provider"))',
                    func='INSERT INTO "agents_connectionchange" ("api_key_env", "base_url", "context_window", "hint_role", "id", "max_output_tokens", "max_tokens_field", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefill", "project_id", "provider") VALUES (NEW."api_key_env", NEW."base_url", NEW."context_window", NEW."hint_role", NEW."id", NEW."max_output_tokens", NEW."max_tokens_field", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'changed\', NEW."id", NEW."prefill", NEW."project_id", NEW."provider"); RETURN NULL;',
                    hash="7ae7399c6011c5d41f62e9ff89db285f5316463d",
                    operation="UPDATE",
                    pgid="pgtrigger_changed_update_cfa40",
                    table="agents_connection",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="connection",
            trigger=pgtrigger.compiler.Trigger(
                name="deleted_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "agents_connectionchange" ("api_key_env", "base_url", "context_window", "hint_role", "id", "max_output_tokens", "max_tokens_field", "name", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "prefill", "project_id", "provider") VALUES (OLD."api_key_env", OLD."base_url", OLD."context_window", OLD."hint_role", OLD."id", OLD."max_output_tokens", OLD."max_tokens_field", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'deleted\', OLD."id", OLD."prefill", OLD."project_id", OLD."provider"); RETURN NULL;',
                    hash="c57426804c5a5ec2e6b853a9b72ca749c3ebd5bb",
                    operation="DELETE",
                    pgid="pgtrigger_deleted_delete_13cae",
                    table="agents_connection",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="agentchange",
            name="connection",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.connection",
            ),
        ),
        migrations.AddField(
            model_name="agentchange",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="changes",
                related_query_name="changes",
                to="agents.agent",
            ),
        ),
        migrations.AddField(
            model_name="agentchange",
            name="policy",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                help_text="Leave empty to inherit the limits.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.policy",
            ),
        ),
        migrations.AddField(
            model_name="agentchange",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.project",
            ),
        ),
        migrations.AddField(
            model_name="connectionchange",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="changes",
                related_query_name="changes",
                to="agents.connection",
            ),
        ),
        migrations.AddField(
            model_name="connectionchange",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.project",
            ),
        ),
        migrations.AddField(
            model_name="policyactivation",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="policyactivation",
            name="policy",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="activations", to="agents.policy"
            ),
        ),
        migrations.AddField(
            model_name="policyactivation",
            name="version",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="activations", to="agents.policyversion"
            ),
        ),
        migrations.AddField(
            model_name="policyattachment",
            name="connection",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="agents.connection"
            ),
        ),
        migrations.AddField(
            model_name="policyattachment",
            name="policy",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="attachments", to="agents.policy"
            ),
        ),
        migrations.AddField(
            model_name="policyattachment",
            name="project",
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
        ),
        migrations.AddField(
            model_name="policyattachmentchange",
            name="connection",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.connection",
            ),
        ),
        migrations.AddField(
            model_name="policyattachmentchange",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="changes",
                related_query_name="changes",
                to="agents.policyattachment",
            ),
        ),
        migrations.AddField(
            model_name="policyattachmentchange",
            name="policy",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.policy",
            ),
        ),
        migrations.AddField(
            model_name="policyattachmentchange",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="agents.project",
            ),
        ),
        migrations.AddIndex(
            model_name="policyactivation",
            index=models.Index(fields=["policy", "-starts_at"], name="agents_activation_standing"),
        ),
        migrations.AddConstraint(
            model_name="policyattachment",
            constraint=models.UniqueConstraint(
                fields=("project", "connection", "model", "provider"),
                name="agents_policyattachment_place",
                nulls_distinct=False,
                violation_error_message="Another policy is attached there; change that attachment instead.",
            ),
        ),
        migrations.AddConstraint(
            model_name="policyattachment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("connection", None), ("model", "")),
                    models.Q(("connection__isnull", False), ("provider", ""), models.Q(("model", ""), _negated=True)),
                    _connector="OR",
                ),
                name="agents_policyattachment_one_place",
                violation_error_message="Name a connection and its model, or a provider, or none of them: the site.",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="policyattachment",
            trigger=pgtrigger.compiler.Trigger(
                name="made_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "agents_policyattachmentchange" ("connection_id", "id", "model", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy_id", "project_id", "provider") VALUES (NEW."connection_id", NEW."id", NEW."model", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'made\', NEW."id", NEW."policy_id", NEW."project_id", NEW."provider"); RETURN NULL;',
                    hash="9d8f9e6bfcbda8259ad0a0ce71e9eeb9f8ced52f",
                    operation="INSERT",
                    pgid="pgtrigger_made_insert_2fa68",
                    table="agents_policyattachment",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="policyattachment",
            trigger=pgtrigger.compiler.Trigger(
                name="changed_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "agents_policyattachmentchange" ("connection_id", "id", "model", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy_id", "project_id", "provider") VALUES (NEW."connection_id", NEW."id", NEW."model", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'changed\', NEW."id", NEW."policy_id", NEW."project_id", NEW."provider"); RETURN NULL;',
                    hash="eb41e72ffceaaf9e43a6c0dba6c4465e5be4a41b",
                    operation="UPDATE",
                    pgid="pgtrigger_changed_update_b5efb",
                    table="agents_policyattachment",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="policyattachment",
            trigger=pgtrigger.compiler.Trigger(
                name="deleted_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "agents_policyattachmentchange" ("connection_id", "id", "model", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy_id", "project_id", "provider") VALUES (OLD."connection_id", OLD."id", OLD."model", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'deleted\', OLD."id", OLD."policy_id", OLD."project_id", OLD."provider"); RETURN NULL;',
                    hash="121bcf555a1275c075af12ac9d7e085c7f7785a6",
                    operation="DELETE",
                    pgid="pgtrigger_deleted_delete_93c8f",
                    table="agents_policyattachment",
                    when="AFTER",
                ),
            ),
        ),
        *(
            migrations.RunSQL(ONLY_ADDED_TO.format(table=table, when=when), NO_MORE.format(table=table))
            for table, when in GUARDED.items()
        ),
        migrations.RunSQL(AS_BEFORE, migrations.RunSQL.noop),
    ]
