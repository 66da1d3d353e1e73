"""Of which run a turn is, and by what that is found. Indexes are made beside readers and writers."""

import django.contrib.postgres.fields
from django.db import migrations, models

INDEXES = (
    ("run", "run_id", ["run_id", "id"]),
    ("follows", "follows", ["follows"]),
    ("answered", "answered_key", ["answered_key", "-id"]),
)


def column(**more: object) -> models.UUIDField:
    return models.UUIDField(null=True, editable=False, **more)


def found(name: str, marks: str, fields: list[str]) -> migrations.SeparateDatabaseAndState:
    """Turns that are of no run, and have no answer, are not in it."""
    index = f"turns_turn_{name}"
    listed = ", ".join(f"{field[1:]} DESC" if field.startswith("-") else field for field in fields)
    made = [
        f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
        f"CREATE INDEX CONCURRENTLY {index} ON turns_turn ({listed}) WHERE {marks} IS NOT NULL",
    ]
    of = models.Index(fields=fields, name=index, condition=models.Q(**{f"{marks}__isnull": False}))
    return migrations.SeparateDatabaseAndState(
        [migrations.RunSQL(made, f"DROP INDEX CONCURRENTLY IF EXISTS {index}")], [migrations.AddIndex("turn", of)]
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0016_shared_values")]
    operations = [
        migrations.AddField("turn", "run_id", column()),
        migrations.AddField("turn", "follows", column()),
        migrations.AddField("turn", "answered_key", column()),
        migrations.AddField(
            "turn",
            "history_keys",
            django.contrib.postgres.fields.ArrayField(models.UUIDField(), editable=False, null=True),
        ),
        *(found(*each) for each in INDEXES),
    ]
