"""A number and its unit stay in one line. Pages alone are written so: programs get plain spaces."""

import re

_UNITS = re.compile(r"(?<=\d) (?=%|(?:ms|s|min|h|d|B|kB|MB)\b)")


def unbroken(sentence: str) -> str:
    """The sentence with a no-break space between each number and its percent sign or unit."""
    return _UNITS.sub("\u00a0", sentence)
