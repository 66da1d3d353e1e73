"""The text of a protocol answer while it still comes: the string under `response`, character by character."""

import re

_HEAD = ("{", '"response"', ":", '"')
_RUN = re.compile(r'[^"\\]+')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([^u]))")
_UNFINISHED = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_REPLACEMENT = "\ufffd"


class ResponseText:
    """Takes the answer's text in pieces and returns what of it is for the user, in linear time.

    Text that does not begin as an object is for the user as it is; an object that does not begin with a `response`
    string shows nothing.
    """

    def __init__(self) -> None:
        self.plain = False  #: the answer is no object
        self.in_string = False  #: the `response` string has begun
        self.ended = False  #: it has ended, too
        self._hidden = False
        self._token = self._at = 0  # where in _HEAD the text has come to
        self._begun: list[str] = []  # what was read before it was known what it is
        self._pending = ""  # an escape that has not ended
        self._high = 0  # the first half of a surrogate pair

    def feed(self, text: str) -> str:
        """What these characters add to the shown text."""
        if self.plain:
            return text
        if self._hidden or self.ended:
            return ""
        return self._read_string(text) if self.in_string else self._read_head(text)

    def _read_head(self, text: str) -> str:
        for position, char in enumerate(text):
            token = _HEAD[self._token]
            if char != token[self._at]:
                if self._at == 0 and char.isspace():
                    self._begun.append(char)
                    continue
                return self._give_up(text[position:])
            self._at += 1
            self._begun.append(char)
            if self._at == len(token):
                self._token, self._at = self._token + 1, 0
            if self._token == len(_HEAD):
                self.in_string = True
                return self._read_string(text[position + 1 :])
        return ""

    def _give_up(self, rest: str) -> str:
        if self._token or rest.startswith("`"):  # a fence may hold the object
            self._hidden = True
            return ""
        self.plain = True
        return "".join((*self._begun, rest))

    def _read_string(self, text: str) -> str:
        text, at, out = self._pending + text, 0, []
        self._pending = ""
        while at < len(text) and not self.ended:
            if run := _RUN.match(text, at):
                out.append(self._flushed() + run[0])
                at = run.end()
            elif text[at] == '"':
                out.append(self._flushed())
                self.ended = True
            elif escape := _ESCAPE.match(text, at):
                out.append(self._unescaped(escape))
                at = escape.end()
            elif _UNFINISHED.fullmatch(text, at):
                self._pending, at = text[at:], len(text)
            else:  # an escape that JSON does not have is kept as it stands
                out.append(self._flushed() + text[at])
                at += 1
        return "".join(out)

    def _flushed(self) -> str:
        lone, self._high = self._high, 0
        return _REPLACEMENT if lone else ""

    def _unescaped(self, escape: re.Match[str]) -> str:
        if escape[2]:
            return self._flushed() + _SHORT.get(escape[2], escape[2])
        unit = int(escape[1], 16)
        if self._high and 0xDC00 <= unit < 0xE000:
            high, self._high = self._high, 0
            return chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
        lone = self._flushed()
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
            return lone
        return lone + (_REPLACEMENT if 0xDC00 <= unit < 0xE000 else chr(unit))
