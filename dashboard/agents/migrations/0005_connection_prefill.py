"""Whether a connection's models go on writing a cut answer themselves."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0004_policy_criteria")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="prefill",
            field=models.BooleanField(
                default=False,
                help_text="The model continues a truncated answer in place, without a hint, when it is the last message. Test the connection to find out: other servers return an error or start the answer again.",
                verbose_name="continues exactly",
            ),
        ),
    ]
