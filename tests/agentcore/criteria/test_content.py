import pytest

from agentcore.criteria.builtin import WantsMore
from tests.together import together


@together
@pytest.mark.parametrize(
    ("wants", "text", "more"),
    [
        (WantsMore(), "", False),
        (WantsMore(min_chars=3), "ab", True),
        (WantsMore(min_chars=3), "abc", False),
        (WantsMore(must_contain=("Sources",)), "no list of them", True),
        (WantsMore(must_contain=("Sources",)), "SOURCES: none", False),
        (WantsMore(must_contain=("a", "b")), "only a", True),
        (WantsMore(must_contain=("straße",)), "STRASSE", False),
        (WantsMore(min_chars=9, must_contain=("a",)), "a", True),
    ],
)
def test_a_text_is_sufficient_when_it_is_long_enough_and_contains_everything_required(wants, text, more):
    assert wants(text) is more
