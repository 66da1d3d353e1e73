"""What the models say. No phrase of twelve characters comes twice in a text, so an overlap has one place only.

Also holds a numbered list without an end. Each line is made from its number, so any place in it is found from its last
line.

Also holds the tokenizer of every simulated model: pieces of a few characters, so that a cut often falls inside a word.
"""

import json
import re
from collections.abc import Iterator
from itertools import count

ESSAY = """\
Agents stop for reasons, and most of those reasons are dull.

A model finishes its thought and says so. That is the happy ending, and nobody writes it down. The interesting ones \
come earlier: a budget runs dry in the middle of a clause, a filter closes the door, a cable is kicked, or some tool \
returns what no one expected.

The provider does leave a note. It is a single word, sent last, and every vendor spells it differently. Read \
carelessly, “length” passes for success, because text did arrive and the status was 200. Hours later somebody notices \
that step seven of the migration was never described.

Three habits help:

1. Keep the raw label next to your own translation of it.
2. Treat half a tool call as none at all; running it is worse than waiting.
3. Count what you have spent before asking for more.

With these in place, a truncated reply becomes a pause instead of a loss. You hand back the unfinished draft, trim \
whatever was repeated, and join the pieces so the seam vanishes. Still, a limit must stand somewhere, or curiosity \
turns into an invoice.

When even that limit is reached, be honest. Show the partial work, name the boundary it met, and suggest the number \
that would have let it finish. An engineer can act on such a sentence. “Something went wrong” has never fixed anything.\
"""

#: Said after a hint by a model that would have continued otherwise in one go.
OTHER_END = """\
 To pick up the thread: a cut answer is asked for in another way than a whole one, so a model that is handed its own \
draft and told to proceed often chooses a different road. What it says from here on is as good, and shorter, but it \
does not tell what the first road would have cost.\
"""

_DAYS = "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"
_MONTHS = "January, February, March, April, May, June, July, August, September, October, November, December"
#: Its words come again and again, so that a short echo of it looks like more of it.
WHAT_WAS = "what was what was, what was said was what was meant."
#: By words of the question: texts that can be continued in one way only.
ARRAY = json.dumps([{"ok": True}] * 61)

LISTS = {
    "days of the week": ", ".join([_DAYS] * 12),
    "months of the year": ", ".join([_MONTHS] * 12),
    "what was": WHAT_WAS,
}

FLAKY = """\
Thank you for waiting. A moment ago this server turned you away, told you how long to stay out, and meant it. \
Coming back after exactly that time is all it ever wanted; hammering at the door would only have made the queue longer.\
"""

ODD = """\
Everything here is ordinary except the last word. Watch the finish reason: no dictionary lists it, and still this text \
is whole.\
"""

REFUSED = "I can explain how such a lock works in principle, but the part you are asking for"

REFUSAL = "I will not help with that: the heron at the ninth lock is nobody's business."

SCRIPT = """\
Here is the snippet: <script>alert(1)</script> and beside it <b>bold</b>, <img src=x onerror="alert(2)"> \
and a closing </div> that nothing opened. A page that shows these words, brackets and all, is safe; a page that obeys \
them is not.\
"""

NO_TOOLS = "I would call a tool now, but this request offers none."
TOOLS_INTRO = "Let me work both numbers out."
NO_JSON = "Ask for JSON, by response_format or in the system prompt, and this model answers with one object."

REPORT = json.dumps(
    {
        "title": "Why agents stop",
        "points": [
            "Truncation hides behind a normal status code until someone reads to the end.",
            "Filters withhold text without warning, and rightly never explain themselves.",
            "Rate limits are promises: wait as long as told, then try again.",
            "Broken arguments must not run, however plausible their first half seems.",
            "Budgets belong to people; software should say which number was too small.",
        ],
        "confidence": 0.93,
        "complete": True,
    }
)

#: What a grammar that begins anew makes of the report's rest: a whole object of its own.
REST_OF_REPORT = json.dumps({"points": ["Budgets belong to people."], "confidence": 0.9, "complete": True})

PROSE_AND_JSON = f"""\
Of course! Below you find the object, and nothing but it:

```json
{REPORT}
```

Shall I add a second one?\
"""

VIOLATION = json.dumps({"title": 7, "points": "three, or so", "confidence": "rather high"})
SCHEMA_NOTICE = "did not validate"  #: in lower case: the words by which a caller says that it was a violation

MALFORMED_ARGUMENTS = '{"expression": 6 * 7}'
MALFORMED_NOTICE = "not valid json"  #: in lower case: the words by which a caller says that a call was malformed

OUT_OF_CONTEXT = "There was so much to read before this question that here, in the middle of a"

PAUSED = "To be certain of the date, I shall look it up first."
RESUMED = " Found it: the archive names a Friday in late October, and two newspapers agree."

#: As a call it makes exactly 80 tokens: one for the call, the rest for its JSON.
LONG_EXPRESSION = (
    "(17 + 25) * 3 - 48 / 6 + 1024 - 77 * 2 + (9 - 4) * 31 - 640 / 8 + 55 * 12 - 300 + 86 - (14 + 5) * 7 "
    "+ 11 * 13 - 21 / 3 + (100 - 58) * 4 + 90 - 6 + 8 * 5"
)

HTML_PAGE = b"""<!doctype html>
<html><head><title>Welcome</title></head>
<body><h1>Sign in to the network</h1><p>This is a page, where an API should be.</p></body></html>
"""


_OPENING = "Here is a list that has no end.\n"
_LABEL = re.compile(r"\n(\d{1,9})\. ")
_TAIL = 400  #: characters; more than two lines

# Lengths that share no factor: three words in a row come again only after thousands of lines.
_WORDS = [
    words.split("|")
    for words in (
        "Quiet|Amber|Crooked|Northern|Velvet|Hollow|Patient|Copper|Sudden|Distant|Gentle",
        "harbours|lanterns|orchards|bridges|kettles|violins|glaciers|windmills|pigeons|archives|markets|canyons|"
        "carousels",
        "remember|borrow|measure|paint|follow|repair|forgive|collect|question|carry|imagine|polish|rescue|trade|visit|"
        "weigh|answer",
        "maps|bells|stones|letters|storms|ribbons|clocks|seeds|mirrors|songs|ladders|shadows|engines|feathers|keys|"
        "candles|doors|anchors|puzzles",
        "before dawn|after supper|in winter|near Lisbon|by accident|without hurry|on Tuesdays|under glass|for luck|"
        "at sea|out loud|like thieves|from memory|past midnight|in pairs|with care|off season|across town|over tea|"
        "since Monday|beyond doubt|between trains|against advice",
    )
]
_STRIDES = (3, 5, 7, 8, 9)


def line(number: int) -> str:
    """Line `number`, with the line break before it; line 0 is the opening."""
    if number == 0:
        return _OPENING
    words = (words[number * stride % len(words)] for words, stride in zip(_WORDS, _STRIDES, strict=True))
    return f"\n{number}. {' '.join(words)}."


def rest_of_list(said: str) -> tuple[str, Iterator[str]]:
    """What of `said` belongs to the list, and the lines that follow; nothing and all of them if it is foreign."""
    number, part = 0, said
    for label in _LABEL.finditer(said, max(0, len(said) - _TAIL)):
        number, part = int(label.group(1)), said[label.start() :]
    two_lines = line(number) + line(number + 1)
    if not part or not two_lines.startswith(part):
        return "", map(line, count())
    return said, _lines_from(two_lines[len(part) :], number + 2)


def _lines_from(first: str, number: int) -> Iterator[str]:
    yield first
    yield from map(line, count(number))


_TOKEN = re.compile(r"\s?[^\W\d_]{1,5}|\s?\d{1,3}|\s?[^\w\s]|\s|_")


def tokens_of(text: str) -> Iterator[str]:
    """The tokens of `text` in order; joined they are `text` again."""
    return (match.group() for match in _TOKEN.finditer(text))


def count_tokens(text: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(text))
