"""The words of a text are all that is indexed of it: PostgreSQL's text parser takes time that grows with the square of a
text's length for some runs of punctuation ("a_a_a_…", "././…", "a1@a1@…"), so punctuation is made blank before it.

Rows from before keep what they were indexed by. A search asks for both (`dashboard.turns.search_words.words_query`).
"""

from importlib import import_module

from django.db import migrations

MADE = import_module("dashboard.turns.migrations.0003_timeline").SEARCH
BEFORE = MADE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
INDEXED = "left(input_text, 80000) || ' ' || left(output_text, 120000)"
PUNCTUATION = r"""!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~"""  #: all of ASCII, as SQL quotes it
HARMLESS = f"translate({INDEXED}, '{PUNCTUATION}', repeat(' ', 32))"
AFTER = BEFORE.replace(INDEXED, HARMLESS)
assert HARMLESS in AFTER


class Migration(migrations.Migration):
    dependencies = [("turns", "0011_certain_verdicts")]
    operations = [migrations.RunSQL(AFTER, BEFORE)]
