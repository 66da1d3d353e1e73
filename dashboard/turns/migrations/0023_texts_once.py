"""An answer that stands whole in its turn's row, or in its attempt's, has null in its other places."""

from django.db import migrations

import dashboard.platform.fields

IN_TURN = "SELECT turn.output_text FROM turns_turn turn WHERE turn.id = {row}.turn_id"
IN_ATTEMPT = (
    "SELECT coalesce(call.text, (SELECT turn.output_text FROM turns_turn turn WHERE turn.id = call.turn_id)) "
    "FROM turns_attempt call WHERE call.turn_id = {row}.turn_id AND call.index = {row}.attempt"
)


class Migration(migrations.Migration):
    dependencies = [("turns", "0022_packed_answers")]
    operations = [
        migrations.AlterField(
            model,
            "text",
            dashboard.platform.fields.KeptOnceField(blank=True, default="", elsewhere=elsewhere, null=True),
        )
        for model, elsewhere in (("attempt", IN_TURN), ("attemptchunk", IN_ATTEMPT))
    ]
