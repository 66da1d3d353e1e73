"""What the live sockets show: scenes that read the database and push the very parts the pages were made of."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, cast
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from agentcore.snapshot import Snapshot
from dashboard.live.models import Signal
from dashboard.live.scenes import PACE, Scene
from dashboard.live.selectors import refused_of, waiting_words
from dashboard.platform.notifications import turn_group
from dashboard.turns import history, selectors
from dashboard.turns.damaged_pages import damage_words_of
from dashboard.turns.draft_answer import DraftAnswer, draft_shown
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.read_ahead import reading_once
from dashboard.turns.views import turn_context

#: The parts of a turn's page that change while it runs.
TURN_PARTS = ("_head", "_machine", "_answer", "_moments", "_attempts", "_deck", "_operate", "_breakpoint_dialog")
SLOW_DRAFT = 60_000  #: characters of a draft that are pushed in one `PACE`; longer ones are pushed less often


class DisplayedTurn(NamedTuple):
    """What a page shows of a turn: up to which record, and how many characters of a draft."""

    seq: int
    draft: int = 0
    pushed: bool = False  #: its parts were pushed, so of the next it needs only those that differ
    line: str | None = None  #: where its call stands in line
    refused: tuple[int, ...] = ()  #: signals it shows as not done
    status: str | None = None  #: None: it does not say


class RenderedParts(NamedTuple):
    """The parts of a turn's page by their names, as of one record."""

    seq: int
    parts: Mapping[str, str]
    draft: int  #: characters of the draft that the answer among them shows
    line: str | None = None  #: where the call stood in line
    status: str = ""  #: a turn that never began, or cannot go on, ends without a record


NOTHING_PUSHED = RenderedParts(-1, {}, 0)


class TurnScene(Scene):
    """One turn."""

    def __init__(self, turn_id: UUID) -> None:
        self.subject: UUID = turn_id
        self.group = turn_group(turn_id)
        self.turn: Turn | None = None  #: None: it is not there, or was not looked at
        self.unfinished = True
        self.snapshot: Snapshot | None = None
        self.now = self.before = NOTHING_PUSHED
        self.streamed: tuple[int, str] | None = None  #: the draft's length and fragment, once read
        self.line: str | None = None  #: where its call stands in line
        self.refused: list[Signal] = []  #: what was asked for and is not done, which no record tells of

    def is_waiting(self) -> bool:
        return self.unfinished

    def is_over(self) -> bool:
        return not self.unfinished

    def look(self) -> None:
        known, self.streamed = self.turn, None
        try:
            self.turn = selectors.turn_get(self.subject)
        except Turn.DoesNotExist:
            self.turn, self.unfinished = None, False
            return
        self.unfinished = self.turn.status in UNFINISHED
        self.line = waiting_words(self.subject) if self.unfinished else None
        self.refused = list(refused_of(self.turn))
        if known is None or known.last_seq != self.turn.last_seq:
            self.snapshot = None

    def failing(self, error: Exception) -> list[str]:
        words = damage_words_of(self.subject, error, path=self.group)
        return [render_to_string("live/_damaged.html", {"told": words})] if words else []

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        if self.turn is None:
            return [], shows
        page = cast("DisplayedTurn | None", shows)
        texts: list[str] = []
        if page is None or not self._is_shown(self.turn, page):
            texts, page = self._grown(self.turn, page)
        refused = tuple(signal.id for signal in self.refused)
        if refused and refused != page.refused:
            texts, page = [*texts, _refused_fragment(self.refused)], page._replace(refused=refused)
        length, fragment = self._draft(self.turn) if self.unfinished else (0, "")
        # Under one record a draft only grows; a shorter one was read before the parts were.
        if length > page.draft:
            texts, page = [*texts, fragment], page._replace(draft=length)
        return texts, page

    def _is_shown(self, turn: Turn, page: DisplayedTurn) -> bool:
        """Whether a page shows the last record, the place in line, and, where it says so, the status."""
        return (page.seq, page.line) == (turn.last_seq, self.line) and page.status in (None, turn.status)

    def _grown(self, turn: Turn, page: DisplayedTurn | None) -> tuple[list[str], DisplayedTurn]:
        """There are new records, another status, or the line has moved: the parts that changed by it, or all."""
        if _state_of(self.now) != (turn.last_seq, self.line, turn.status):
            self.before, self.now = self.now, self._parts(turn)
        is_known = page is not None and page.pushed and _state_of(page) == _state_of(self.before)
        known = self.before.parts if is_known else {}
        changed = "".join(html for name, html in self.now.parts.items() if known.get(name) != html)
        now, refused = self.now, page.refused if page else ()
        return [changed], DisplayedTurn(now.seq, now.draft, True, now.line, refused, now.status)

    @reading_once()
    def _parts(self, turn: Turn) -> RenderedParts:
        context = {**turn_context(turn), "oob": True}
        page = context["page"]
        self.snapshot = page.shown.snapshot
        both = {**context, "shown": page.shown}
        parts = {part: render_to_string(f"turns/{part}.html", both) for part in TURN_PARTS}
        return RenderedParts(turn.last_seq, parts, page.draft.length if page.draft else 0, self.line, turn.status)

    def _draft(self, turn: Turn) -> tuple[int, str]:
        """What has streamed since the last record."""
        if self.streamed is None:
            if self.snapshot is None:
                self.snapshot = history.snapshot_at(turn, turn.last_seq)
            draft = draft_shown(turn, self.snapshot)
            length = draft.length if draft else 0
            self.pace = PACE * (1 + length // SLOW_DRAFT)
            self.streamed = (length, _draft_fragment(turn, draft) if draft else "")
        return self.streamed


def _state_of(shown: DisplayedTurn | RenderedParts) -> tuple[int, str | None, str | None]:
    return shown.seq, shown.line, shown.status


def _refused_fragment(signals: Sequence[Signal]) -> str:
    return render_to_string("live/_operate_refused.html", {"refused": signals, "oob": True})


def _draft_fragment(turn: Turn, draft: DraftAnswer) -> str:
    """Its text, and how many tokens the turn has so far."""
    context = {"draft": draft, "turn": turn, "tokens_out": turn.output_tokens + draft.tokens, "oob_draft": True}
    return "".join(render_to_string(f"turns/{part}.html", context) for part in ("_draft", "_tokens_out"))


def seq_of(given: QueryDict) -> int:
    """Up to which record a page says it is made; -1 where it does not, or was pushed more on a socket it has lost."""
    seq = str(given.get("seq", ""))
    if "again" in given:
        return -1
    return int(seq) if seq.isascii() and seq.isdigit() and len(seq) < 10 else -1


def watch_turn(given: QueryDict, /, *, turn_id: UUID) -> tuple[Scene, Hashable]:
    """A turn's page says with `seq` up to which record it is made, and with `status` where the turn stood then."""
    return TurnScene(turn_id), DisplayedTurn(seq_of(given), status=given.get("status"))
