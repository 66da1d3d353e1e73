"""Chunks that are alike but for their text are read as if each had been parsed, whatever stands in them."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from agentcore.providers.openai.answer import Answer
from agentcore.providers.wire.stream_decoder import EventDecoder
from agentcore.providers.wire.text_events import TextEvents

LITERALS = st.sampled_from(
    [
        *(b'" a"', b'""', b'"\\n"', b'"\\""', b'"\\\\"', b'"\\\\\\""', b'"\\u00e9"', '"é\u2028"'.encode()),
        *(b'"\\ud83d"', b'"\\ude00"', b'"\\ud83d\\ude00"', b'"\xff"', b'"\x01"', b'"\x7f"', b'"a"b"', b'"\\x"', b'"a'),
        *(b"null", b"1", b'["a"]', b'"a","x":"b"', b'"a"}}]} \n\n', b'"content":"a"', b'"a\nb"', b'"a\r\n\r\nb"'),
    ]
)
SHAPES = st.sampled_from(
    [
        b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}\n\n',
        b'data:{"model":"m","id":"c1","choices":[{"index":0,"delta":{"content": %s},"finish_reason":null}]}\n\n',
        b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":%s}}]}\r\n\r\n',
        b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"reasoning_content":%s,"content":"b"}}]}\n\n',
        b'data: {"id":"c1","model":"\\"content\\":","choices":[{"index":0,"delta":{"content":%s}}],"usage":null}\n\n',
        b'data: {"id":"c1","model":"m","choices":[{"index":1,"delta":{"content":%s},"finish_reason":null}]}\n\n',
        b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":%s},"finish_reason":"stop"}]}\n\n',
        b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":%s},"content":"c"}]}\n\n',
        b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":%s}}]}\ndata: \n\n',
        *(b'data: {"error":%s}\n\n', b": comment %s\n\n", b"event: error\ndata: %s\n\n", b"data: [DONE]\n\n", b"\n"),
    ]
)
RUN = 4  #: chunks of one shape one after the other, so that it is learnt


@st.composite
def streams(draw):
    """The bytes of an answer in pieces: runs of chunks of one shape, whole or cut anywhere."""
    runs = draw(st.lists(st.tuples(SHAPES, st.lists(LITERALS, min_size=1, max_size=RUN)), max_size=6))
    events = [shape.replace(b"%s", literal) for shape, literals in runs for literal in literals]
    if draw(st.booleans()):
        return events
    data, size = b"".join(events), draw(st.sampled_from([1, 7, 50, 300, 100_000]))
    return [data[at : at + size] for at in range(0, len(data), size)]


def read(pieces, decoder):
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas, decoder.close()


def quick():
    answer = Answer("openai", 100)
    return EventDecoder(answer, texts=TextEvents(answer, b'"content":'))


FIRST = b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'


@given(streams())
@example([b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n' * 3])
def test_the_fast_path_reads_every_stream_like_parsing_each_event(pieces):
    pieces = [FIRST, *pieces]
    assert read(pieces, quick()) == read(pieces, EventDecoder(Answer("openai", 100)))


def chunk(text, **beside):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return b"data: " + json.dumps({"id": "c1", "model": "m", "choices": [choice], **beside}).encode() + b"\n\n"


class Counting(Answer):
    """Counts the payloads that are parsed."""

    parsed = 0

    def is_dialect(self, payload, /):
        self.parsed += 1
        return super().is_dialect(payload)


def parsed_of(events):
    answer = Counting("openai", 100)
    decoder = EventDecoder(answer, texts=TextEvents(answer, b'"content":'))
    deltas, response = read([FIRST, *events], decoder)
    assert [delta.text for delta in deltas] == [json.loads(e[6:])["choices"][0]["delta"]["content"] for e in events]
    assert response.text == "".join(delta.text for delta in deltas)
    return answer.parsed


def test_one_of_several_similar_chunks_is_parsed():
    texts = [f" word{n}" for n in range(50)] + ["\n\n", 'said "no"', "\\", "é \U0001f600", "\u2028"]
    assert parsed_of([chunk(text) for text in texts]) == 2  # and the first one, with the role


def test_a_changed_shape_is_learned_again_and_one_that_always_changes_is_abandoned():
    two = [chunk(f" {n}", created=n // 20) for n in range(40)]
    assert parsed_of(two) == 3
    assert parsed_of([chunk(f" {n}", created=n) for n in range(40)]) == 41
