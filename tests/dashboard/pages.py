"""Pages as a signed-in browser gets them."""

import re
from html.parser import HTMLParser

from django.test import Client

HTMX = {"HX-Request": "true"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.ids: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._script = tag == "script" and "src" not in given
        if tag == "style":
            self.inline.append("<style>")
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        self.ids += [given["id"] or ""] if "id" in given else []

    def handle_data(self, data: str) -> None:
        if self._script and data.strip():
            self.inline.append(data)


def read(html: str) -> _Reader:
    """What of a page a strict policy would refuse (`inline`), and its ids."""
    reader = _Reader()
    reader.feed(html)
    return reader


def page(client: Client, address: str, **headers: str) -> str:
    """The page at an address; it must be there and keep to the policy."""
    response = client.get(address, headers=headers)
    assert response.status_code == 200, response.content[:500]
    html = response.content.decode()
    found = read(html)
    assert found.inline == []
    assert len(found.ids) == len(set(found.ids)), sorted(i for i in found.ids if found.ids.count(i) > 1)
    return compact(html)


#: Elements within a line, in which whitespace at an edge is seen; around and within others it is not.
_INLINE = r"(?!/?(?:abbr|b|code|del|em|i|ins|kbd|label|mark|q|small|span|strong|sup|time)\b)"
_BLOCKS = (
    r"/?(?:d[dlt]|details|div|fieldset|form|h\d|header|li|main|nav|ol|p|section|summary|t[dhr]|table|tbody|thead|ul)\b"
)


def compact(html: str) -> str:
    """HTML as a browser reads it: whitespace is one space, none where it is not seen; `<pre>` stays as it is."""

    def collapsed(text: str) -> str:
        text = re.sub(r"[ \n\t]+", " ", text)
        text = re.sub(rf"(<{_INLINE}[a-z][^>]*>) ", r"\1", re.sub(rf" (?=<{_INLINE}/)", "", text))
        return re.sub(rf"(<{_BLOCKS}[^>]*>) ", r"\1", re.sub(rf" (?=<{_BLOCKS})", "", text))

    preformatted = re.compile(r"<pre\b.*?</pre>|<textarea\b.*?</textarea>", re.DOTALL)
    kept = preformatted.findall(html)
    return "".join(collapsed(text) + each for text, each in zip(preformatted.split(html), [*kept, ""], strict=True))


def text_of(html: str) -> str:
    """The page without its tags, with plain spaces before units, and one space for each run of whitespace."""
    text = re.sub("<[^>]+>", "", compact(html)).replace("\u00a0", " ").replace("\u202f", " ")
    return re.sub(r"\s+", " ", text)
