"""A text that comes in pieces, of which there may be thousands, from servers that may cut a character in two."""

from agentcore.providers.wire.untrusted_json import string

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
