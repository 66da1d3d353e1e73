"""The words of what was typed into the search field, and of texts, as the index has them."""

import re
import string


def words_query(asked: str) -> str:
    """What was typed into the search field, by the words alone that a text is indexed by: of `"foo.py, twice" -re-run`
    it makes `"foo py twice" -"re run"`. The database does the same with texts (migration 0012)."""
    return " ".join(filter(None, map(_harmless, _ASKED.findall(asked))))


def words_of(text: str) -> list[str]:
    """The words of a text, as it is indexed by them."""
    return _WORD.findall(text.translate(_BLANK))


def phrases_in(asked: str) -> list[int]:
    """How many words each phrase of a search has. Alternatives to a phrase are looked for in texts as phrases are."""
    parts = [len(words_of(part)) + len(_PARTED.findall(part)) for part in _PART.findall(words_query(asked))]
    phrases = [words for words in parts if words > 1]
    return parts if phrases and _OR.search(asked) else phrases


def _harmless(part: str) -> str:
    minus = "-" if part.startswith("-") else ""
    words = part.translate(_BLANK).split()
    quoted = len(words) > 1 or (len(words) == 1 and '"' in part)
    return "" if not words else f'{minus}"{" ".join(words)}"' if quoted else f"{minus}{words[0]}"


#: A quoted phrase, or one word with its punctuation; either may be negated.
_ASKED = re.compile(r'-?"[^"]*"?|[^\s"]+')
_WORD = re.compile(r"\w+")
_BLANK = str.maketrans(dict.fromkeys(string.punctuation, " "))
_PART = re.compile(r'-?"[^"]*"|\S+')
_PARTED = re.compile(r"\d[eE]\d+[^\W\d]")  #: a word of which PostgreSQL makes two: a number, and what follows
_OR = re.compile(r"\sor\s", re.IGNORECASE)
