"""Buffers the beginning of a continuation while it may only repeat the end of the answer so far. Pure.

`agentcore.continuation_merge` joins an answer and its continuation once both are whole. Here the same is decided as
early as it is
sure: while all that came stands somewhere in the answer, it may be the overlap (or a repetition that is dropped where
the call breaks off), and nothing is told. As soon as it stands nowhere, its overlap is final. Near the character cap
the machine alone knows where it cuts, so the last characters before it are left to it.
"""

from collections.abc import Collection, Sequence

from agentcore.continuation_merge import Joining, Rule, join
from agentcore.overlaps import may_go_on
from agentcore.tool_call_markup import may_be_bare_call, settled

MARGIN = 256  #: characters before the cap that are told only once the answer is judged; a cut splits no grapheme
_QUICK_TRIES = 16
_STEP = 8  #: after those, looked for again only once an eighth has been added: a text that repeats itself stays cheap


class OverlapBuffer:
    """One attempt's text. `existing`: the answer it goes on from; None: nothing is joined. `room`: up to the cap.

    `how`: what is known of how it was asked for. `tools`: the names of those that may be called; what may be the markup
    of a call is told only once the answer is judged.
    """

    def __init__(self, existing: str | None, *, how: Joining, room: int, tools: Collection[str] = ()) -> None:
        self._existing = existing or ""
        self._how = how
        self._min = 1 if how.echo else max(1, how.min_overlap)
        self._trimmed = how.trimmed
        self._tools, self._withheld = tools, ""
        self._may_be_bare_call = not self._existing.strip()
        self._room = room - MARGIN
        self._held: list[str] = []
        self._length = 0  #: of what is held
        self._at = 0  #: where in the answer what is held stands, first
        self._found = 0  #: length of what is held that stands there
        self.tries = 0  #: how often it was looked for anew
        self._due = 0  #: length from which it is looked for again
        self._decided = existing is None or not existing

    def take(self, piece: str) -> str:
        """More text of the attempt; returns what is surely new to the answer."""
        if self._decided:
            return self._within(piece)
        self._held.append(piece)
        self._length += len(piece)
        return "" if self._still_stands(piece) else self._decide()

    def take_all(self, pieces: Sequence[str]) -> list[str]:
        """More pieces; returns what of each is surely new, where that is anything."""
        length = sum(map(len, pieces))
        if self._decided and not self._tools and length <= self._room:
            self._room -= length
            return [piece for piece in pieces if piece]
        return [new for piece in pieces if piece and (new := self.take(piece))]

    def _still_stands(self, piece: str) -> bool:
        """Whether all that came stands in the answer, where it may be an overlap or the beginning of one."""
        if self._length < self._due:
            return True
        last = len(self._existing) - max(self._min, self._length)
        found, self._found = self._found, self._length
        goes_on = found + len(piece) == self._length and self._existing.startswith(piece, self._at + found)
        if found and goes_on and self._at <= last:
            return True
        self.tries += 1
        if self.tries > _QUICK_TRIES:
            self._due = self._length + self._length // _STEP
        text = "".join(self._held)
        self._held = [text]
        # Every place where the longer text stands is one where the shorter did, so none before is looked at again.
        at = self._existing.find(text, self._at)
        self._at = at if at >= 0 else len(self._existing)
        return 0 <= at <= last

    def _decide(self) -> str:
        text = "".join(self._held)
        merge = join(self._existing, text, self._how)
        overlap = merge.overlap or (merge.ambiguous if self._how.rule >= Rule.TELLS_APART else 0)
        if overlap and self._how.rule is not Rule.DROPS and self._may_go_on_repeating(text, overlap):
            self._at, self._found = len(self._existing), 0
            return ""
        if self._trimmed and not text.strip():  # how much space is said again is known by the first that is none
            self._at, self._found = len(self._existing), 0
            return ""
        self._decided, self._held = True, []
        return self._within(text[merge.overlap :])

    def _may_go_on_repeating(self, text: str, overlap: int) -> bool:
        """Whether more of the text may show that it is a repetition, whose overlap is kept."""
        if self._how.echo:
            return False
        rest = text[overlap:]
        copied = len(rest) < overlap and text.startswith(rest)
        return copied or (self._how.rule >= Rule.GOES_ON and may_go_on(text, overlap, self._min))

    def _within(self, text: str) -> str:
        """At most what is left of the room, and nothing that may be the markup of a tool call."""
        if self._tools:
            text = self._withheld + text
            self._may_be_bare_call = self._may_be_bare_call and may_be_bare_call(text, self._tools)
            safe = 0 if self._may_be_bare_call else settled(text)
            text, self._withheld = text[:safe], text[safe:]
        told = text[: max(0, self._room)]
        self._room -= len(text)
        return told
