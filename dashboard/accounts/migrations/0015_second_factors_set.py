from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_membership_changes")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="second_factors_set",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
    ]
