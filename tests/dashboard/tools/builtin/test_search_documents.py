import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.tools.builtin.search_documents import PASSAGE_CHARS, _pieces
from dashboard.tools.selectors import registry
from dashboard.tools.tool import Document
from tests.dashboard.tools.calling import call

SEARCH = registry.get("search_documents")
HANDBOOK = Document(
    "handbook.md", "\n".join(f"Line {n} is about rivers." for n in range(1, 200)) + "\nThe otter sleeps."
)
LETTER = Document("letter.txt", "Dear otter, the river is high. Yours, the OTTER.")
JAPANESE = Document("日本.txt", "東京の天気は晴れです。")


def search(*documents: Document, **arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(SEARCH, *documents, **arguments).content)
    return found


def test_the_best_matching_passages_come_first_with_their_positions():
    passages = search(HANDBOOK, LETTER, query="otter")["passages"]
    assert [passage["document"] for passage in passages] == ["letter.txt", "handbook.md"]
    first, last = (int(part) for part in passages[1]["characters"].split("-"))
    assert "The otter sleeps." in HANDBOOK.text[first:last]
    assert HANDBOOK.text[:first].count("\n") == passages[1]["line"] - 1


def test_a_rare_word_weighs_more_than_a_common_one():
    assert "otter" in search(HANDBOOK, query="rivers otter", most=1)["passages"][0]["text"]


def test_at_most_the_requested_passages_are_returned_and_all_are_counted():
    found = search(HANDBOOK, query="rivers", most=2)
    assert len(found["passages"]) == 2
    assert found["found"] > 2


def test_a_language_without_spaces_is_searched_too():
    assert search(JAPANESE, query="天気")["passages"][0]["document"] == "日本.txt"


def test_without_a_word_or_a_hit_the_documents_are_listed():
    listed = [{"name": "letter.txt", "characters": len(LETTER.text)}]
    assert search(LETTER, query="")["documents"] == listed
    assert search(LETTER, query="zebra")["documents"] == listed
    assert search(query="zebra") == {"passages": [], "found": 0, "documents": []}


def test_a_query_that_would_hang_a_regex_engine_is_harmless():
    text = Document("a.txt", "a" * 200_000)
    assert search(text, query="(a+)+$ " * 5_000)["found"] > 0
    assert search(text, query=" ".join(f"w{n}" for n in range(50_000)))["found"] == 0


@given(st.text(alphabet="ab \n", max_size=3_000))
def test_the_passages_are_the_whole_text_in_order_and_of_limited_length(text: str):
    pieces = list(_pieces(text))
    assert "".join(piece for _, piece in pieces) == text
    assert all(0 < len(piece) <= PASSAGE_CHARS for _, piece in pieces)
    assert [start for start, _ in pieces] == [sum(len(p) for _, p in pieces[:n]) for n in range(len(pieces))]
