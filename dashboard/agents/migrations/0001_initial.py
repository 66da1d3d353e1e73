import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dashboard.agents.policy_validation
import dashboard.agents.validation
import dashboard.platform.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Project",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "name",
                    models.CharField(max_length=64, unique=True, validators=[dashboard.agents.validation.name_valid]),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Policy",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=64, validators=[dashboard.agents.validation.name_valid])),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={
                "verbose_name_plural": "policies",
                "ordering": ["name"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Connection",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=64, validators=[dashboard.agents.validation.name_valid])),
                ("created_at", models.DateTimeField(auto_now_add=True)),
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
                    "project",
                    models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=64, validators=[dashboard.agents.validation.name_valid])),
                ("created_at", models.DateTimeField(auto_now_add=True)),
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
                (
                    "connection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="agents", to="agents.connection"
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        blank=True,
                        help_text="Leave empty to inherit the limits.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="agents.policy",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                (
                    "limits",
                    models.JSONField(
                        blank=True, default=dict, validators=[dashboard.agents.policy_validation.limits_valid]
                    ),
                ),
                (
                    "error_policy",
                    models.JSONField(
                        blank=True, default=dict, validators=[dashboard.agents.policy_validation.error_policy_valid]
                    ),
                ),
                (
                    "envelope",
                    models.JSONField(
                        blank=True, null=True, validators=[dashboard.agents.policy_validation.envelope_valid]
                    ),
                ),
                (
                    "tool_calls_on_truncation",
                    models.TextField(
                        default="execute_if_complete",
                        validators=[dashboard.agents.policy_validation.tool_calls_on_truncation_valid],
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="agents.policy"
                    ),
                ),
            ],
            options={
                "ordering": ["policy", "-version"],
                "constraints": [
                    models.UniqueConstraint(fields=("policy", "version"), name="agents_policyversion_version")
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="agents_policy_name"),
        ),
        migrations.AddConstraint(
            model_name="connection",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="agents_connection_name"),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="agents_agent_name"),
        ),
    ]
