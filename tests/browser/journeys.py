"""What people do, in steps that tests are made of."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, WebSocketRoute, expect

LONG = 60_000  #: ms, for a turn to end
UNDER_WAY = ("queued", "running")
DROP = """([text, name]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, { type: "application/json" }));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


class Clicks:
    """Clicks, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, place: Page | Locator, role: str, name: str | re.Pattern[str]) -> None:
        """The one element of `place` that has this role and name."""
        self.at(place.get_by_role(role, name=name))  # type: ignore[arg-type]

    def at(self, element: Locator) -> None:
        self.count += 1
        element.click()


class Sockets:
    """The sockets of a page, which can be gone for a while, as when a network or a server goes."""

    def __init__(self, page: Page) -> None:
        self.open: list[WebSocketRoute] = []
        self.away = False
        page.route_web_socket(re.compile("/ws/"), self._answer)

    def leave(self) -> None:
        """From now on, until `away` is taken back."""
        self.away = True
        while self.open:
            self.open.pop().close(code=1012)

    def _answer(self, socket: WebSocketRoute) -> None:
        if self.away:
            socket.close(code=1012)
        else:
            socket.connect_to_server()
            self.open.append(socket)


def ask(page: Page, agent: str, prompt: str, *, max_tokens: int | None = None) -> None:
    """Send a prompt to an agent from its live page."""
    page.goto(f"/agents/{agent}/live")
    page.get_by_label(f"Prompt for {agent}").fill(prompt)
    if max_tokens is not None:
        page.get_by_label("Max tokens per call").fill(str(max_tokens))
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-head")).to_contain_text(prompt)


def api(page: Page, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """A call of the API as the person who is signed in, whatever page is open."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "whystop_csrf")
    answer = page.request.post(f"/api/v1/{path}", data=body, headers={"X-CSRFToken": token})
    assert answer.ok, answer.text()
    made: dict[str, Any] = answer.json()
    return made


def played(page: Page, agent: str, prompt: str, *, max_tokens: int | None = None) -> str:
    """The address of a turn that nobody watched until it ended or was held: a fifth of what `ask` and `ended` cost."""
    overrides = {} if max_tokens is None else {"max_tokens": max_tokens}
    turn = api(page, "turns", {"agent": agent, "input": prompt, "overrides": overrides})["id"]

    def over() -> bool:
        return page.request.get(f"/api/v1/turns/{turn}").json()["status"] not in UNDER_WAY

    until(page, over, "the turn does not end", every=100)
    return f"/turns/{turn}"


def go_on(page: Page, agent: str, prompt: str) -> None:
    """Send a prompt in the conversation that is open."""
    page.get_by_label(f"Prompt for {agent}").fill(prompt)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label(f"Prompt for {agent}")).to_have_value("")


def until(page: Page, holds: Callable[[], object], what: str, *, every: float = 50) -> None:
    """Wait for what `expect` has no words for; `what` is said if it never comes. `every`: ms between two looks."""
    deadline = time.monotonic() + LONG / 1000
    while not holds():
        assert time.monotonic() < deadline, what
        page.wait_for_timeout(every)


def resting(page: Page, selector: str) -> object:
    """Where an element lies once nothing moves it any more."""
    boxes = [page.locator(selector).bounding_box()]
    while len(boxes) < 2 or boxes[-1] is None or boxes[-1] != boxes[-2]:
        page.wait_for_timeout(200)
        boxes.append(page.locator(selector).bounding_box())
    return boxes[-1]


def alike(one: Page, other: Page) -> None:
    """Two pages of a conversation say the same, once both have heard everything."""
    until(one, lambda: said(one) == said(other), "they say different things to the end")


def said(page: Page) -> str:
    """What the page of a conversation says, apart from how far a stream is and which attempts are open."""
    parts = ("heading", "transcript", "turn-head", "answer", "machine", "line")
    return "\n".join(page.locator(f"#{part}").inner_text() for part in parts)


def ended(page: Page) -> str:
    """Wait for the end of the turn that is shown; its address."""
    expect(page.get_by_role("link", name="What if…")).to_be_visible(timeout=LONG)
    address = page.get_by_role("link", name="What if…").get_attribute("href")
    assert address is not None
    return address.removesuffix("/replay")


def words(page: Page, column: str) -> str:
    """The answer of a column of the replay page, without marks and what was dropped."""
    return page.locator(column).evaluate(
        """column => [...column.querySelectorAll('.answer :is(.s1, .s2, .s3, .s4)')].map(s => s.textContent).join('')"""
    )


def scrolls_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def exported(page: Page, turn: str, folder: Path) -> Path:
    """The turn at this address as a file."""
    page.goto(turn)
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def drop(page: Page, file: Path) -> None:
    """Drop a file on the page."""
    page.evaluate(DROP, [file.read_text(), file.name])
