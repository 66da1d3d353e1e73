"""The text, the reasoning and the refusal of a message or a piece of one; and a text that comes in pieces, of
which there may be thousands, from servers that may cut a character in two."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agentcore.providers.wire.untrusted_json import mapping, sequence, string


class Content(NamedTuple):
    """What a message says, what it thinks, and how it declines; text as it came, with halves of characters in it."""

    text: str
    reasoning: str
    refusal: str


def read_content(message: Mapping[str, Any]) -> Content:
    """`content` as text or as typed parts; `reasoning_content`, `reasoning` or `reasoning_details`; `refusal`."""
    content = message.get("content")
    refusal = string(message.get("refusal"))
    # Some servers send the same thoughts under several names.
    reasoning = _said(message.get("reasoning_content")) or _said(message.get("reasoning"))
    if not reasoning and "reasoning_details" in message:
        reasoning = _details(message)
    if not isinstance(content, list):
        return Content(_said(content), reasoning, refusal)
    parts = [{"type": "text", "text": part} if isinstance(part, str) else mapping(part) for part in content]
    thoughts = "".join(_plain(part.get("thinking")) for part in parts if part.get("type") == "thinking")
    text = "".join(_said(part.get("text")) for part in parts if part.get("type") in ("text", "output_text"))
    declined = "".join(string(part.get("refusal")) for part in parts if part.get("type") == "refusal")
    return Content(text, reasoning or thoughts, refusal or declined)


def _said(value: object) -> str:
    return value if isinstance(value, str) else ""


def _plain(thinking: object) -> str:
    """Mistral's thoughts: text, or a list of text parts."""
    return _said(thinking) or "".join(_said(mapping(part).get("text")) for part in sequence(thinking))


def _details(message: Mapping[str, Any]) -> str:
    return "".join(_detail_texts(sequence(message.get("reasoning_details"))))


def _detail_texts(details: object) -> Iterator[str]:
    for detail in sequence(details):
        yield string(mapping(detail).get("text")) or string(mapping(detail).get("summary"))


MANY = 512  #: pieces that are joined at once: a word by itself takes ten times its letters


class TextPieces:
    """Gathers a text in linear time and in little more memory than the text.

    Gateways that cut by UTF-16 units send half of an emoji at a time; such halves are joined.
    """

    def __init__(self) -> None:
        self._blocks: list[str] = []  # pieces that have been joined
        self._pieces: list[str] = []
        self._half = ""  # the first half of a character whose second half has not come

    def take(self, piece: str) -> str:
        """Adds a piece; returns what is new to show. A half that nothing follows becomes U+FFFD at the end."""
        if self._half or not piece.isascii():
            piece = self._joined(piece)
        if piece:
            self._pieces.append(piece)
            if len(self._pieces) >= MANY:
                self._blocks.append("".join(self._pieces))
                self._pieces.clear()
        return piece

    def take_all(self, pieces: list[str]) -> list[str]:
        """Adds pieces that no character is cut in two in; returns what is new to show."""
        if self._half:
            return [new for piece in pieces if (new := self.take(piece))]
        taken = [piece for piece in pieces if piece]
        self._pieces += taken
        return taken

    def __str__(self) -> str:
        pieces = [*self._blocks, *self._pieces]
        self._blocks = ["".join(pieces)] if len(pieces) > 1 else pieces
        self._pieces.clear()
        return "".join((*self._blocks, string(self._half))) if self._half else "".join(self._blocks)

    def _joined(self, piece: str) -> str:
        piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return string(piece)
