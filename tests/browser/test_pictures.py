"""What the pictures of the documentation must not show."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import NewPage
from tests.browser.pictures import NEUTRAL, failing, styled
from tests.first_start import CHECKOUT


def test_a_picture_shows_no_folder_of_the_machine_that_takes_it(page: Page):
    for address in ("/tour", "/backtests/track-record"):
        page.goto(address)
        said = "() => document.body.innerText + [...document.querySelectorAll('textarea')].map(one => one.value)"
        assert str(CHECKOUT) in page.evaluate(said), address
        page.evaluate(NEUTRAL)
        assert str(CHECKOUT) not in page.evaluate(said), address
        assert "cd /srv/whystop && .venv/bin/python manage.py" in page.evaluate(said), address


def test_no_picture_is_taken_of_a_page_without_styles(new_page: NewPage):
    page = new_page(missing=True)
    failing(page, "server-error")
    page.goto("/")
    styled(page)
    page.route("**/static/**/*.css", lambda route: route.fulfill(status=404, body="Not found"))
    page.goto("/")
    with pytest.raises(AssertionError, match="start the server again"):
        styled(page)
