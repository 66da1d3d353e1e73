"""Drafts in the shadow of live turns, and their verdicts."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.ids

#: The database itself sees to it that they go with their turn, whoever deletes the turn.
GO_WITH_THE_TURN = """
ALTER TABLE policies_shadowverdict ADD CONSTRAINT policies_shadowverdict_turn
    FOREIGN KEY (turn_id) REFERENCES turns_turn (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0008_policies_stand"),
        ("turns", "0006_policy_sources"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Shadow",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("why", models.TextField(blank=True, default="")),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("seen_to", models.UUIDField(default=uuid.UUID("00000000-0000-0000-0000-000000000000"))),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agents.project")),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="shadows", to="agents.policyversion"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ShadowVerdict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "word",
                    models.TextField(
                        choices=[
                            ("same", "Same"),
                            ("flipped", "Flipped"),
                            ("unended", "Unended"),
                            ("undecidable", "Undecidable"),
                        ]
                    ),
                ),
                ("before", models.TextField(blank=True, default="")),
                ("after", models.TextField(blank=True, default="")),
                ("tokens_delta", models.BigIntegerField(default=0)),
                ("calls_delta", models.BigIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "shadow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="verdicts", to="policies.shadow"
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="turns.turn",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="shadow",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("version",), name="policies_shadow_one_of_a_version"
            ),
        ),
        migrations.AddIndex(
            model_name="shadowverdict",
            index=models.Index(fields=["shadow", "word", "-turn"], name="policies_verdict_word"),
        ),
        migrations.AddConstraint(
            model_name="shadowverdict",
            constraint=models.UniqueConstraint(fields=("shadow", "turn"), name="policies_shadowverdict_once"),
        ),
        migrations.RunSQL(
            GO_WITH_THE_TURN, "ALTER TABLE policies_shadowverdict DROP CONSTRAINT policies_shadowverdict_turn"
        ),
    ]
