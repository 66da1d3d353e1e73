"""A call's answer has the name by which its caller may ask for it again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0002_keys_end_with_tokens")]

    operations = [
        migrations.AddField("gatewaycall", "answer_id", models.TextField(null=True)),
        migrations.AddIndex(
            "gatewaycall",
            models.Index(
                fields=["answer_id"],
                name="gateway_call_answer",
                condition=models.Q(answer_id__isnull=False),
            ),
        ),
    ]
