"""Whether a text ends in the middle of something: JSON, a code fence, a bracket, a sentence.

Each function returns the position of the unfinished part, or None. They rather miss a truncation than report one for an
unusual ending: poems, lists, headings, scripts without full stops, fences inside fences.
"""

import re
from bisect import bisect_right

from jiter import from_json

_FENCE = re.compile(r"(?m)^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})([^\n]*)$")
_OPENERS, _CLOSERS = "([{（［｛「『", ")]}）］｝」』"
_BRACKET = re.compile(f"[{re.escape(_OPENERS + _CLOSERS)}]")
_EMOTICON = re.compile(r"[:;=]['’]?-?[(\[{]")
_FENCE_LINE = re.compile(r"(?m)^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n")
_FENCE_ALONE = re.compile(r"(?m)^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+$")
_CODE = re.compile(r"`[^`\n]*`")
_MARKER = re.compile(r"^(?:[-*+•–]|\d+[.)]|[a-zA-Z][.)])\s+")  #: begins an item of a list
_NOT_PROSE = re.compile(r"^(?:#|\||>|https?://|\[\d+\]|\s{4,}|\t|[^\w\s]*$)")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDS = re.compile(r"[.!?…。！？।؟։።｡]")  #: the sentences of a text with any of these are closed by them
_LETTER = re.compile(r"[^\W\d_\u2100-\u214f]")  #: not one that mathematics makes a symbol of
_MARKUP = "*_~ \t\n\r"
_WORDS = 6  #: a shorter line may be a title, a name, a signature
_SIGNS = 15  #: the same, in characters of a script that does not part words


def json_at(text: str) -> int | None:
    """The start of unfinished JSON, if the whole text is JSON."""
    said = text.strip()
    if said[:1] not in ("{", "[") or len(said) == 1:
        return None
    try:
        from_json(said.encode("utf-8", "surrogatepass"))  # half a character is no JSON, and no reason to fail
    except ValueError as error:
        return len(text) - len(text.lstrip()) if "EOF while parsing" in str(error) else None
    return None


def fence_at(text: str) -> int | None:
    """The start of an unclosed code fence. Fences inside fences are taken into account."""
    if "```" not in text and "~~~" not in text:
        return None
    nested: list[tuple[str, int]] = []
    plain: tuple[str, int] | None = None
    for found in _FENCE.finditer(text):
        mark, said = found[1], found[2].strip()
        if mark[0] in said:
            continue  # code within a line
        closes = not said
        if closes and nested and _closes(mark, nested[-1][0]):
            nested.pop()
        else:
            nested.append((mark, found.start(1)))
        if plain is None:
            plain = (mark, found.start(1))
        elif closes and _closes(mark, plain[0]):
            plain = None
    return plain[1] if plain is not None and nested else None


def _closes(mark: str, opened: str) -> bool:
    return mark[0] == opened[0] and len(mark) >= len(opened)


def bracket_at(text: str) -> int | None:
    """The position of an unclosed bracket in the last paragraph. The kinds may differ, as in [0, 1)."""
    start = text.rfind("\n\n", 0, len(text.rstrip())) + 1
    paragraph = text[start:]
    if not any(map(paragraph.__contains__, _OPENERS)):
        return None  # nearly every text, and what follows reads it three times
    for odd in (_EMOTICON, _CODE):
        paragraph = odd.sub(lambda found: "\0" * len(found[0]), paragraph)
    opened: list[int] = []
    for found in _BRACKET.finditer(paragraph):
        if found[0] in _OPENERS:
            opened.append(found.start())
        elif opened:
            opened.pop()
    return start + opened[0] if opened else None


def sentence_at(text: str) -> int | None:
    """The start of an unfinished sentence, in a text whose other sentences are all finished."""
    lines = _without_fences(text).rstrip().split("\n")
    last, item = lines[-1].strip().rstrip(_MARKUP), bool(_MARKER.match(lines[-1].strip()))
    if _is_ended(last) or not _is_prose(lines[-1]) or not _ENDS.search(text):
        return None
    like = [line for line in lines[:-1] if _is_prose(line) and bool(_MARKER.match(line.strip())) is item]
    above = [line for line in lines[-2:-1] if line.strip()]
    styled = item and not like  # nothing says how this author ends an item
    if styled or not all(_is_ended(line.rstrip(_MARKUP)) for line in (*like, *above)):
        return None
    return text.rstrip().rfind(_last_sentence(last))


def _without_fences(text: str) -> str:
    """The text without its closed code blocks. A fence is closed by a line of as many marks, or of some of them."""
    if "```" not in text and "~~~" not in text:
        return text
    ends = _fence_ends(text)
    kept, at = [], 0
    for opened in _FENCE_LINE.finditer(text):
        if opened.start() < at:
            continue
        mark = opened[1]
        after = (_first_after(places, opened.end()) for size, places in ends.get(mark[0], ()) if size <= len(mark))
        end = next((end for end in after if end is not None), None)
        if end is not None:
            kept.append(text[at : opened.start()])
            at = end
    return "".join((*kept, text[at:]))


def _fence_ends(text: str) -> dict[str, list[tuple[int, list[int]]]]:
    """Where lines of nothing but marks end, for each mark by their number, the largest first."""
    found: dict[str, dict[int, list[int]]] = {}
    for line in _FENCE_ALONE.finditer(text):
        found.setdefault(line[1][0], {}).setdefault(len(line[1]), []).append(line.end())
    return {mark: sorted(by_size.items(), reverse=True) for mark, by_size in found.items()}


def _first_after(places: list[int], at: int) -> int | None:
    """The first of these places, which are in order, that lies beyond."""
    n = bisect_right(places, at)
    return places[n] if n < len(places) else None


def _is_prose(line: str) -> bool:
    """Long enough to be a sentence, and no heading, table, quotation, source or address."""
    if _NOT_PROSE.match(line):
        return False
    return len(_MARKER.sub("", line.strip()).split(None, _WORDS)) >= _WORDS or len(_CJK.findall(line)) >= _SIGNS


def _is_ended(line: str) -> bool:
    """Whether its last character may be an author's last: anything but a letter, or a sign that leads on."""
    return not (_LETTER.match(line[-1:]) or line[-1:] in ",，、（([{“«„&")


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?…])\s+|(?<=[。！？।؟։።｡])", line)[-1] or line
