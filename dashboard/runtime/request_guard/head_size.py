"""How large the head of a request is, as far as it has come."""

from dashboard.runtime.request_guard import refusal_texts
from dashboard.runtime.request_guard.resource_limits import HEAD_BYTES, HEAD_FIELDS, WIRE_RATIO


class HeadSize:
    """Of the request that comes now at one connection, and of what comes between the chunks of its body."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Nothing of the next head has come."""
        self._size = self._fields = 0  #: of what the parser has told of it
        self._fed = 0  #: bytes that the parser was given, less those that what it told of them accounts for

    def end(self) -> None:
        """It is whole."""
        self._fed = 0

    def add(self, size: int) -> str:
        """So many bytes of it. Why it is too large; empty: it is not."""
        self._size += size
        return refusal_texts.LONG_HEAD if self._size > HEAD_BYTES else ""

    def add_field(self, name: bytes, value: bytes) -> str:
        """The same, of a field."""
        self._fields += 1
        too_long = self.add(len(name) + len(value) + 4)  # a colon, a space, and the line's end
        return too_long or (refusal_texts.MANY_FIELDS if self._fields > HEAD_FIELDS else "")

    def feed(self, size: int) -> None:
        """The parser is given so many bytes."""
        self._fed += size

    def tell(self, size: int) -> None:
        """It has told so many bytes of a body."""
        self._fed -= WIRE_RATIO * size

    @property
    def is_endless(self) -> bool:
        """Whether the parser makes too little of what it is given: a head without an end, or chunks of a body that have
        little but extensions."""
        return self._fed > HEAD_BYTES
