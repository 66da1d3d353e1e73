from collections import Counter

import pytest

from dashboard.simulator import texts
from dashboard.simulator.texts import count_tokens
from tests.together import together

#: Texts that repeat themselves on purpose: an expression, equal elements, words for models that continue exactly.
REPEATING = ("LONG_EXPRESSION", "WHAT_WAS", "ARRAY")
SPOKEN = {
    name: value
    for name, value in vars(texts).items()
    if name.isupper() and isinstance(value, str) and name not in REPEATING
}


@together
@pytest.mark.parametrize("text", SPOKEN.values(), ids=SPOKEN.keys())
def test_no_phrase_of_twelve_characters_repeats(text: str) -> None:
    phrases = Counter(text[start : start + 12] for start in range(len(text) - 11))
    assert [phrase for phrase, times in phrases.items() if times > 1] == []


def test_the_essay_fits_in_400_tokens_and_not_in_four_times_60() -> None:
    assert 330 <= count_tokens(texts.ESSAY) <= 370
