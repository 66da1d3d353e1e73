"""The socket of every page: how much needs a person; on the inbox's own page, what."""

from collections.abc import Hashable
from typing import Any

from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.agents.selectors import project_current
from dashboard.inbox.selectors import Inbox, inbox_of, notices_seen
from dashboard.live.scenes import Scene, digest_of
from dashboard.platform.notifications import TIMELINE_GROUP

OPENED = ""  #: what a page shows that was just opened


class InboxScene(Scene):
    """The badge in the header; with `list`, the entries too. Each is pushed whole when it differs."""

    group = TIMELINE_GROUP
    pace = 1.0

    def __init__(self, subject: str) -> None:
        self.subject: str = subject
        self.html = ""

    def look(self) -> None:
        project = project_current()
        inbox = inbox_of(project)
        self.html = _badge(inbox)
        if self.subject == "list":
            context = {"inbox": inbox, "seen": notices_seen(project), "oob": True}
            self.html += render_to_string("inbox/_entries.html", context)

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        now = digest_of(self.html)
        return ([self.html] if now != shows else []), now


def _badge(inbox: Inbox) -> str:
    return render_to_string("inbox/_badge.html", {"inbox": inbox, "oob": True})


def watch_inbox(given: QueryDict, /, **_: Any) -> tuple[Scene, Hashable]:
    """The first push is the whole."""
    return InboxScene("list" if "list" in given else "badge"), OPENED
