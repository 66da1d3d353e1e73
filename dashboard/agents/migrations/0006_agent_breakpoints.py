"""Where each turn of an agent holds, and which of its tools a person must approve of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0005_connection_prefill"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="approvals",
            field=models.JSONField(
                blank=True,
                help_text='Tools that run only after a person approves the call: {"tools": […], "seconds": 300, "otherwise": "refuse"}. “otherwise” says what happens when the time is up: refuse, run or cancel.',
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="breakpoints",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text='Where every turn of this agent pauses: a JSON list of objects with state, trigger, stop_reason, tool or budget_below, such as [{"state": "continue_pending"}, {"budget_below": 0.1}].',
            ),
        ),
    ]
