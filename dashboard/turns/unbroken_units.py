"""A number and its unit stay in one line. Pages alone are written so: programs get plain spaces."""

import re

THIN = "\u202f"  #: the space of all pages between a number and its unit
_UNITS = re.compile(r"(?<=\d) (?=%|(?:ms|s|min|h|d|B|kB|MB)\b)")


def unbroken(sentence: str) -> str:
    """The sentence with a narrow space that does not break between each number and its percent sign or unit."""
    return _UNITS.sub(THIN, sentence)
