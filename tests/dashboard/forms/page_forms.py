"""The forms of a page, as a browser finds them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

#: Inputs that hold no text of a person.
UNTYPED = {"hidden", "checkbox", "radio", "submit", "button", "range", "file"}


@dataclass
class Control:
    """One control of a form. `value`: its text, of a choice the chosen one."""

    name: str
    kind: str
    id: str = ""
    value: str = ""
    described_by: str = ""
    invalid: bool = False
    fixed: bool = False  #: nobody can type into it

    @property
    def typed(self) -> bool:
        return self.kind not in UNTYPED | {"select"} and not self.fixed


@dataclass
class PageForm:
    """A form with its controls in order. `action` is empty where it sends to the page itself."""

    action: str
    method: str
    controls: list[Control] = field(default_factory=list)

    @property
    def seen(self) -> list[Control]:
        return [one for one in self.controls if one.kind not in {"hidden", "submit", "button"} and one.name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.seen)


@dataclass
class _Parts:
    forms: list[PageForm] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  #: the ids of what encloses each error; empty: nothing does
    ids: set[str] = field(default_factory=set)
    summary: list[str] = field(default_factory=list)  #: the ids of the fields that the summary of a form links to


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts = _Parts()
        self._form: PageForm | None = None
        self._area: Control | None = None
        self._select: Control | None = None
        self._around = ""
        self._in_note = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.parts.ids.add(given.get("id", ""))
        classes = given.get("class", "").split()
        if tag == "div" and "errors" in classes:
            self._around = given.get("id", "")
        if tag == "p" and "error" in classes and "note" not in classes:
            self.parts.errors.append(self._around)
        if tag == "p":
            self._in_note = {"note", "error"} <= set(classes)
        if tag == "a" and self._in_note and given.get("href", "").startswith("#"):
            self.parts.summary.append(given["href"].removeprefix("#"))
        if tag == "form":
            self._form = PageForm(given.get("action", ""), given.get("method", "get").lower())
            self.parts.forms.append(self._form)
        elif tag in ("input", "textarea", "select", "button") and self._form is not None:
            self._control(tag, given)
        elif tag == "option" and self._select is not None and ("selected" in given or not self._select.value):
            self._select.value = given.get("value", "")

    def _control(self, tag: str, given: dict[str, str]) -> None:
        kind = given.get("type", "text") if tag == "input" else tag
        one = Control(given.get("name", ""), kind, given.get("id", ""), given.get("value", ""))
        one.described_by, one.invalid = given.get("aria-describedby", ""), given.get("aria-invalid") == "true"
        one.fixed = "readonly" in given
        assert self._form is not None, "asked before"
        self._form.controls.append(one)
        self._area = one if tag == "textarea" else None
        self._select = one if tag == "select" else self._select

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area.value += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self._around = ""
        if tag == "form":
            self._form = None
        if tag == "textarea":
            self._area = None
        if tag == "select":
            self._select = None


def parts_of(html: str) -> _Parts:
    """The forms, the errors and the ids of a page."""
    reader = _Reader()
    reader.feed(html)
    return reader.parts
