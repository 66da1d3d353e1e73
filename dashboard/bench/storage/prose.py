"""Text that compresses as English does: words by their frequency, in sentences."""

from itertools import accumulate
from random import Random

_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"
_WORDS = 8_000
_COMMON = (
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not", "he",
    "this", "are", "or", "his", "from", "at", "which", "but", "have", "an", "they", "you",
)  # fmt: skip


def _vocabulary() -> list[str]:
    chance = Random("the words of the bench")  # noqa: S311 - made words
    made = dict.fromkeys(_COMMON)
    while len(made) < _WORDS:
        syllables = chance.choice((1, 2, 2, 3, 3, 4))
        made["".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables))] = None
    return list(made)


_VOCABULARY = _vocabulary()
_WEIGHTS = list(accumulate(1 / (rank + 2) for rank in range(len(_VOCABULARY))))


def prose(seed: str, size: int) -> str:
    """As many characters of text; the same for the same seed."""
    chance = Random(seed)  # noqa: S311 - made words
    sentences: list[str] = []
    length = 0
    while length < size:
        words = chance.choices(_VOCABULARY, cum_weights=_WEIGHTS, k=chance.randint(6, 22))
        sentence = " ".join(words).capitalize() + ("." if chance.random() < 0.9 else "?")
        sentences.append(sentence)
        length += len(sentence) + 1
    return " ".join(sentences)[:size]
