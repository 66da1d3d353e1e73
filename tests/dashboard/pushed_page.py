"""What a browser shows of a page after pushes, and what it would show if the page were opened anew."""

import re
from uuid import UUID

from channels.db import database_sync_to_async
from django.template.loader import render_to_string

from dashboard.live.consumers import TURN_PARTS
from dashboard.turns.selectors import turn_get
from dashboard.turns.views import turn_context
from tests.dashboard.pages import compact

ROW = re.compile(r"<tr[^>]* id=\"(row-[^\"]+)\".*?</tr>", re.DOTALL)
AGE = re.compile(r"(<time[^>]*>)[^<]*(</time>)")


def by_id(fragments: list[str]) -> dict[str, str]:
    """The last of the pushed elements, by the id each replaces; drafts stand within the answer and go with it."""
    last: dict[str, str] = {}
    for fragment in fragments:
        for part in re.split(r"(?=<(?:div|section)[^>]* hx-swap-oob=\"true\")", compact(fragment)):
            if found := re.match(r"<\w+[^>]*? id=\"([\w-]+)\"", part):
                last[found[1]] = part.strip()
    last.pop("draft", None)
    return last


@database_sync_to_async
def fresh(turn_id: UUID) -> dict[str, str]:
    context = turn_context(turn_get(turn_id))
    parts = {**context, "shown": context["page"].shown, "oob": True}
    return by_id([render_to_string(f"turns/{part}.html", parts) for part in TURN_PARTS])


class Shown:
    """What a browser shows of the timeline: its rows from the top, and how many wait."""

    def __init__(self, html: str) -> None:
        html = compact(html)
        self.rows = self._rows(html)
        self.waiting = self._waiting(html)

    @staticmethod
    def _rows(html: str) -> dict[str, str]:
        """By id; without what pushes add, and without ages, which the page counts itself."""
        marks = re.compile(r" (hx-swap-oob=\"true\"|class=\"fresh\")")
        return {row[1]: AGE.sub(r"\1\2", marks.sub("", row[0])) for row in ROW.finditer(html)}

    @staticmethod
    def _waiting(html: str) -> str:
        found = re.search(r"<p id=\"new-turns\".*?</p>", html, re.DOTALL)
        return re.sub(r"<[^>]+>", "", found[0]).strip() if found else ""

    def take(self, message: str) -> None:
        """Swap a push in, as htmx does."""
        message = compact(message).strip()
        if "new-turns" in message:
            self.waiting = self._waiting(message)
        elif message.startswith("<tbody id="):
            self.rows = self._rows(message)
        elif message.startswith("<tbody"):
            self.rows = {**self._rows(message), **self.rows}
        else:
            for gone in re.findall(r"<tr id=\"([^\"]+)\" hx-swap-oob=\"delete\">", message):
                self.rows.pop(gone)
            changed = self._rows(re.sub(r"<tr[^>]*\"delete\"></tr>", "", message))
            assert changed.keys() <= self.rows.keys(), "htmx swaps only what is there"
            self.rows |= changed
