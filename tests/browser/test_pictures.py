"""What the pictures of the documentation must not show."""

from playwright.sync_api import Page

from tests.browser.pictures import NEUTRAL
from tests.first_start import CHECKOUT


def test_a_picture_shows_no_folder_of_the_machine_that_takes_it(page: Page):
    for address in ("/tour", "/backtests/track-record"):
        page.goto(address)
        said = "() => document.body.innerText + [...document.querySelectorAll('textarea')].map(one => one.value)"
        assert str(CHECKOUT) in page.evaluate(said), address
        page.evaluate(NEUTRAL)
        assert str(CHECKOUT) not in page.evaluate(said), address
        assert "cd /srv/whystop && .venv/bin/python manage.py" in page.evaluate(said), address
