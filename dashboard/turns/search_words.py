"""The words and phrases of what was typed into the search field, and the words of texts, as the index has them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.contrib.postgres.search import SearchQuery, SearchVectorExact
from django.db import models
from django.db.models.functions import Concat, Left
from django.db.models.lookups import IRegex

from dashboard.platform.replica import read_connection
from dashboard.turns.indexes import WORDS


def words_query(asked: str) -> str:
    """What was typed into the search field, by the words alone that a text is indexed by: of `"foo.py, twice" -re-run`
    it makes `"foo py twice" -"re run"`. The database does the same with texts (migration 0039)."""
    return " ".join(filter(None, map(_harmless, _ASKED.findall(_CURLY.sub('"', asked)))))


def words_of(text: str) -> list[str]:
    """The words of a text, as it is indexed by them."""
    return _WORD.findall(_PUNCTUATION.sub(" ", text))


def is_unspaced(text: str) -> bool:
    """Whether it has letters of a script that puts no spaces between words. What stands between two spaces
    there is one word of the index, which is found by the whole of it alone."""
    return _UNSPACED.search(text) is not None


def parts_of(asked: str) -> list[str]:
    """The words and quoted phrases of what was typed, without punctuation; `-` before one that must not be there."""
    return _PART.findall(words_query(asked))


def phrases_in(asked: str) -> list[int]:
    """How many words each phrase of a search has. Alternatives to a phrase are looked for in texts as phrases are."""
    parts = [len(words_of(part)) + len(_PARTED.findall(part)) for part in parts_of(asked)]
    phrases = [words for words in parts if words > 1]
    return parts if phrases and _OR.search(asked) else phrases


def _harmless(part: str) -> str:
    minus = "-" if part.startswith("-") else ""
    words = _PUNCTUATION.sub(" ", part).split()
    quoted = len(words) > 1 or (len(words) == 1 and '"' in part)
    return "" if not words else f'{minus}"{" ".join(words)}"' if quoted else f"{minus}{words[0]}"


#: A quoted phrase, or one word with its punctuation; either may be negated.
_ASKED = re.compile(r'-?"[^"]*"?|[^\s"]+')
_WORD = re.compile(r"\w+")
#: Thai to Burmese, Khmer, kana, and the characters of Chinese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
#: ASCII's, then Unicode's in its order: Latin, Armenian, Hebrew, Arabic, Devanagari, general, symbols, Chinese, wide
#: forms, emoji. No letter, no digit, no mark, and none of the joiners that stand within words.
_PUNCTUATION = re.compile(
    r"[!-/:-@\[-`{-~"
    r"\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u055a-\u055f\u0589\u05be\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
    r"\u2000-\u200b\u2010-\u2029\u202f-\u205f\u20a0-\u20cf\u2190-\u245f\u2500-\u2775\u2794-\u2bff\u2e00-\u2e2e"
    r"\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f\u30fb\ufe10-\ufe19\ufe30-\ufe6b\ufeff"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee\U0001f000-\U0001f0ff\U0001f300-\U0001faff]"
)
_CURLY = re.compile("[\u201c-\u201f\u00ab\u00bb]")  #: quotation marks as phones and word processors type them
_PART = re.compile(r'-?"[^"]*"|\S+')
_PARTED = re.compile(r"\d[eE]\d+[^\W\d]")  #: a word of which PostgreSQL makes two: a number, and what follows
_OR = re.compile(r"\sor\s", re.IGNORECASE)


# Phrases: words of a search that must stand next to each other, as in `"two words"` and `foo.py`.
# The text index knows words, and not cheaply where they stand: for a phrase PostgreSQL makes the vector of each turn
# that has its words, and reads all of its texts for that (63 ms for 200,000 characters; a regular expression takes
# 1.6 ms). So the index is asked for the words alone, and the texts of what it finds for the phrases.
#: What is indexed of the texts (`whystop_search`, migration 0003).
INPUT_CHARACTERS, OUTPUT_CHARACTERS = 80_000, 120_000
TEXTS_SQL = f"left(input_text, {INPUT_CHARACTERS}) || ' ' || left(output_text, {OUTPUT_CHARACTERS})"
TEXTS = Concat(
    Left("input_text", INPUT_CHARACTERS), models.Value(" "), Left("output_text", OUTPUT_CHARACTERS),
    output_field=models.TextField(),
)  # fmt: skip
EVERY_TURN = "!'\x01'"  #: no word and no term is so
BETWEEN = "[^[:alnum:]]"  #: two words, each character


@dataclass(frozen=True, slots=True)
class Part:
    """What a text must hold, or must not: words next to each other, lower case; often one alone."""

    words: tuple[str, ...]
    without: bool
    pattern: str  #: a regular expression of PostgreSQL's, regardless of case

    @property
    def indexed(self) -> str:
        """As the index is asked: turns without a phrase may have its words."""
        if len(self.words) == 1:
            return f"{'!' * self.without}'{self.words[0]}'"
        return EVERY_TURN if self.without else " & ".join(f"'{word}'" for word in self.words)


@dataclass(frozen=True, slots=True)
class Search:
    """Alternatives, in each of which all parts must hold; none where no word is asked for."""

    alternatives: tuple[tuple[Part, ...], ...]

    @property
    def indexed(self) -> str:
        """A tsquery for the index, which finds all that is asked for and sometimes more (`checked`); empty: nothing."""
        return " | ".join(f"({' & '.join(part.indexed for part in parts)})" for parts in self.alternatives)

    @property
    def checked(self) -> tuple[tuple[Part, ...], ...]:
        """What the texts are asked for; nothing where the index knows. Of one alternative that is its phrases."""
        phrases = tuple(tuple(part for part in parts if len(part.words) > 1) for parts in self.alternatives)
        return () if not any(phrases) else phrases if len(phrases) == 1 else self.alternatives

    def texts_sql(self) -> tuple[str, dict[str, str]]:
        """The condition on the texts of turns_turn, and its values by their names; `TRUE` where there is none."""
        values, alternatives = dict[str, str](), list[str]()
        for parts in self.checked:
            conditions = []
            for part in parts:
                name = f"pattern_{len(values)}"
                values[name] = part.pattern
                conditions.append(f"{TEXTS_SQL} {'!~*' if part.without else '~*'} %({name})s")
            alternatives.append(" AND ".join(conditions))
        return " OR ".join(f"({conditions})" for conditions in alternatives) or "TRUE", values


class _Tsquery(SearchQuery):
    """A tsquery as it is written. Django's own have PostgreSQL look for words in it."""

    template = "%(expressions)s::tsquery"


def found_by(asked: str) -> models.Q:
    """That a turn is found by what was typed into the search field."""
    search = read(asked)
    if not search.alternatives:
        return models.Q(pk__in=())
    texts = models.Q()
    for parts in search.checked:
        texts |= _all_of(parts)
    return models.Q(SearchVectorExact(WORDS, _Tsquery(search.indexed))) & texts


def _all_of(parts: tuple[Part, ...]) -> models.Q:
    every = models.Q()
    for part in parts:
        said = models.Q(IRegex(TEXTS, part.pattern))
        every &= ~said if part.without else said
    return every


@lru_cache(256)
def read(asked: str) -> Search:
    """What was typed into the search field. PostgreSQL parts it into words, as it does texts."""
    words = words_query(asked)
    if not words:
        return Search(())
    with read_connection().cursor() as cursor:
        cursor.execute("SELECT websearch_to_tsquery('simple', %s)::text", [words])
        ((query,),) = cursor.fetchall()
    typed = asked.lower()
    alternatives = query.split(" | ") if query else []
    return Search(tuple(tuple(_part(each, typed) for each in parts.split(" & ")) for parts in alternatives))


def _part(written: str, typed: str) -> Part:
    """`written`: words between apostrophes, joined by `<->`; negated with `!`. No word holds an apostrophe."""
    words = tuple(re.findall(r"'([^']*)'", written))
    return Part(words, written.startswith("!"), f"(^|{BETWEEN}){''.join(_joined(words, typed))}({BETWEEN}|$)")


def _joined(words: tuple[str, ...], typed: str) -> Iterator[str]:
    """The words with what stands between them: nothing, where PostgreSQL makes two of one, as of `7e2af3`."""
    before = ""
    for word in words:
        yield "" if not before else f"{BETWEEN}*" if before + word in typed else f"{BETWEEN}+"
        yield re.escape(word)
        before = word
