"""A numbered list without an end. Each line is made from its number, so any place in it is found from its last line."""

import re
from collections.abc import Iterator
from itertools import count

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
