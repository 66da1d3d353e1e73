"""A text that comes in pieces, from servers that may cut a character in two."""

from agentcore.providers.wire.shapes import string


class TextPieces:
    """Gathers a text. Gateways that cut by UTF-16 units send half of an emoji at a time; such halves are joined."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""  # the first half of a character whose second half has not come

    def take(self, piece: str) -> str:
        """Adds a piece; returns what is new to show. A half that nothing follows becomes U+FFFD at the end."""
        if self._half or not piece.isascii():
            piece = self._joined(piece)
        if piece:
            self._pieces.append(piece)
        return piece

    def take_all(self, pieces: list[str]) -> list[str]:
        """Adds pieces that no character is cut in two in; returns what is new to show."""
        if self._half:
            return [new for piece in pieces if (new := self.take(piece))]
        taken = [piece for piece in pieces if piece]
        self._pieces += taken
        return taken

    def __str__(self) -> str:
        return "".join((*self._pieces, string(self._half)))

    def _joined(self, piece: str) -> str:
        piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return string(piece)
