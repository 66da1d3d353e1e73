"""Sizes and schemes that a page is looked at in: the phone's for each change, for there things have the least room; the
others nightly."""

import pytest

from tests.browser.conftest import DESK, PHONE
from tests.nightly import nightly

#: Pairs of a viewport and a colour scheme.
LOOKS = [
    pytest.param(PHONE, "dark", id="phone-dark"),
    nightly(PHONE, "light", id="phone-light"),
    nightly(DESK, "light", id="desk-light"),
    nightly(DESK, "dark", id="desk-dark"),
]
