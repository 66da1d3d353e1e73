"""A key, from the form to its end: made, copied, seen with its budget, revoked after a second thought."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage


def test_a_key_is_created_shown_once_and_revoked(new_page: NewPage):
    page = new_page(missing=True)  # what is refused is a complaint of the browser's
    name = f"key {uuid4().hex[:6]}"
    page.goto("/gateway/keys")
    if not page.locator("#make[open]").count():
        page.locator("#make > summary").click()
    page.get_by_label("Name", exact=True).first.fill(name)
    page.get_by_label("Allowed models").fill("nothing-there")
    page.get_by_label("Tokens per day").fill("5000")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#key-scope_error")).to_contain_text("There is no agent “nothing-there”")
    expect(page.get_by_label("Tokens per day")).to_have_value("5000")

    page.get_by_label("Allowed models").fill("sim-essay")
    page.get_by_role("button", name="Create key").click()
    secret = page.get_by_label("The new key").input_value()
    assert re.fullmatch(r"whyk_[\w-]{43}", secret)
    example = page.get_by_label("Code for OpenAI", exact=True).input_value()
    assert example.startswith("from openai import OpenAI\n")
    assert f'base_url="{page.url.split("/gateway", maxsplit=1)[0]}/v1", api_key="{secret}"' in example
    assert 'model="sim-essay"' in example
    googles = page.get_by_label("Code for Google", exact=True).input_value()
    assert f'"base_url": "{page.url.split("/gateway", maxsplit=1)[0]}"' in googles

    page.goto("/gateway/keys")
    assert secret not in page.content()
    row = page.locator(".key", has_text=name)
    expect(row).to_contain_text(re.compile(r"0 / 5,000\stokens"))
    row.locator("summary").click()
    row.get_by_role("button", name="Revoke “").click()
    expect(page.get_by_text("The key was revoked")).to_be_visible()
    expect(page.locator(".key", has_text=name)).to_have_count(0)


def test_a_model_alias_is_added_and_removed(page: Page):
    name = f"vendor/{uuid4().hex[:6]}"
    page.goto("/gateway/keys")
    form = page.get_by_role("form", name="New alias")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Target").select_option(label="sim-essay")
    form.get_by_role("button", name="Add").click()
    row = page.locator("#aliases tr", has_text=name)
    expect(row).to_contain_text("the agent sim-essay")
    row.get_by_role("button").click()
    expect(page.get_by_text("The alias was removed")).to_be_visible()
    expect(row).to_have_count(0)


def test_the_calls_page_links_to_the_keys(page: Page):
    page.goto("/gateway/")
    page.get_by_role("link", name="last day").click()
    expect(page.get_by_role("link", name="last day")).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Gateway keys").click()
    expect(page.get_by_role("heading", name="Gateway keys", exact=True)).to_be_visible()
