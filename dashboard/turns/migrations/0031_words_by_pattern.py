"""Punctuation is made blank by a pattern: `translate` compares each character of a text with each of its 32, which was
four fifths of the time that the function took. The words stay the same, so the index does too.
"""

from importlib import import_module

from django.db import migrations

WORDS = import_module("dashboard.turns.migrations.0012_harmless_words")
BEFORE = f"{WORDS.AFTER.rstrip().removesuffix(';')} COST 10000;"  # replacing a function resets its cost (0014)
PATTERN = r"""[][!"#$%&''()*+,./:;<=>?@\\^_`{|}~-]"""  #: all of ASCII's punctuation, each by itself
AFTER = BEFORE.replace(WORDS.HARMLESS, f"regexp_replace({WORDS.INDEXED}, '{PATTERN}', ' ', 'g')")
assert PATTERN in AFTER


class Migration(migrations.Migration):
    dependencies = [("turns", "0030_fewer_pending_words")]
    operations = [migrations.RunSQL(AFTER, BEFORE)]
