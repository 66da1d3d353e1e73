import pytest
from django.core.exceptions import ValidationError

from dashboard.turns.tags import MOST_TAGS, tags_clean


def test_tags_are_trimmed_unique_and_ordered():
    assert tags_clean([" b", "a", "b "]) == ("b", "a")
    assert tags_clean([]) == ()


def test_too_many_tags_are_refused_with_their_number():
    with pytest.raises(ValidationError, match=f"at most {MOST_TAGS} tags; these are {MOST_TAGS + 1}"):
        tags_clean(str(n) for n in range(MOST_TAGS + 1))
