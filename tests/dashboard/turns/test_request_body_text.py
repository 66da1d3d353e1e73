"""A body's text is that of `body_text`, whatever the bodies before it were, and its messages have theirs."""

import random
from typing import Any

import pytest

from dashboard.turns.history import body_text, compact_json
from dashboard.turns.request_body_text import BodyTexts
from tests.together import together

#: Equal in Python, or nearly so, and different as JSON.
ALIKE: tuple[Any, ...] = (1, 1.0, True, 0, 0.0, -0.0, False, None, "1", "", [], {}, [1], [True], {"a": 1}, {"a": 1.0})


def message(chance: random.Random) -> Any:
    content = chance.choice(["hi", "\ud800", "ä\u2028", [{"type": "text", "text": "x", "n": chance.choice(ALIKE)}]])
    return chance.choice(
        [{"role": "user", "content": content}, {"content": content, "role": "user"}, chance.choice(ALIKE)]
    )


@together
@pytest.mark.parametrize("seed", range(40))
def test_a_body_is_written_like_the_first(seed: int) -> None:
    chance, texts, messages = random.Random(seed), BodyTexts(), list[Any]()
    for _ in range(30):
        messages = [
            *messages[: chance.randrange(len(messages) + 1)],
            *(message(chance) for _ in range(chance.randrange(3))),
        ]
        key = chance.choice(["messages", "contents", "input", "other"])
        body = {"model": "m", key: messages, "input ": 3, "max_tokens": 5}
        assert texts.written(body) == body_text(body)
        assert texts.messages == ([] if key == "other" else list(map(compact_json, messages)))


def test_an_unchanged_message_is_not_written_again() -> None:
    texts, first = BodyTexts(), {"role": "user", "content": "x" * 100}
    texts.written({"messages": [first]})
    (before,) = texts.messages
    texts.written({"messages": [dict(first), {"role": "assistant", "content": "y"}]})
    assert texts.messages[0] is before


@pytest.mark.parametrize("body", [{}, {"messages": "text"}, {"messages": []}, {"input": "text", "contents": [1]}])
def test_a_body_without_messages_is_written(body: dict[str, Any]) -> None:
    assert BodyTexts().written(body) == body_text(body)
