"""Guesses at the sign-in page are counted in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_token_parents")]

    operations = [
        migrations.CreateModel(
            name="GuessCount",
            fields=[
                ("key", models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ("guesses", models.PositiveIntegerField()),
                ("until", models.DateTimeField(db_index=True)),
            ],
            options={"default_permissions": ()},
        ),
    ]
