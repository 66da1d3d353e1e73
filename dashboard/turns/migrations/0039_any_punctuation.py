"""Curly quotes, dashes, ellipses, symbols and emoji part words as ASCII's punctuation does. PostgreSQL parts none of
them in a database whose character type is C, as the bundled one: `“stop”` was a word, and was not found as `stop`.

The index is made anew beside readers and writers; this can be ended at any point and begun again.
"""

from importlib import import_module

from django.db import migrations

WORDS = import_module("dashboard.turns.migrations.0031_words_by_pattern")
BEFORE = WORDS.AFTER
#: Each by itself, in Unicode's order: Latin, Armenian, Hebrew, Arabic, Devanagari, general, symbols, Chinese, wide
#: forms, emoji. No letter, no digit, no mark, and none of the joiners that stand within words.
RANGES = (
    r"\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u055a-\u055f\u0589\u05be\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
    r"\u2000-\u200b\u2010-\u2029\u202f-\u205f\u20a0-\u20cf\u2190-\u245f\u2500-\u2775\u2794-\u2bff\u2e00-\u2e2e"
    r"\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f\u30fb\ufe10-\ufe19\ufe30-\ufe6b\ufeff"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee\U0001f000-\U0001f0ff\U0001f300-\U0001faff"
)
PATTERN = f"{WORDS.PATTERN[:-2]}{RANGES}-]"
AFTER = BEFORE.replace(WORDS.PATTERN, PATTERN)
assert PATTERN in AFTER
#: What an ended attempt leaves behind.
LEFT = "DROP INDEX CONCURRENTLY IF EXISTS turns_turn_words_ccnew"
AGAIN = "REINDEX INDEX CONCURRENTLY turns_turn_words"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0038_signs_of_the_last_answer")]
    operations = [
        migrations.RunSQL(AFTER, BEFORE),
        migrations.RunSQL(LEFT, migrations.RunSQL.noop),
        migrations.RunSQL(AGAIN, AGAIN),
    ]
