"""Signing in with a real OpenID provider, in a real browser: `python .ci/sign_in/run.py`. Ends with 1 if it fails."""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "clients")]
import run as clients  # noqa: E402

CLIENT, SECRET = "whystop", "a-long-secret-of-the-client"


def chromium() -> str:
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        raise SystemExit("chromium is missing: run “apt-get install chromium”.")
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def provider(port: int, redirect_uri: str) -> Iterator[None]:
    """The provider, while it serves."""
    python = clients.environment_of("provider", HERE)
    with tempfile.TemporaryDirectory(prefix="why-sign-in-") as folder:
        program = [python, HERE / "provider.py", folder, str(port), CLIENT, SECRET, redirect_uri]
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(f"http://127.0.0.1:{port}/o/.well-known/openid-configuration")
            yield
        finally:
            process.terminate()
            process.wait(30)


def wait_for(address: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def sign_in(page: Page, address: str) -> None:
    """Through the provider's own pages, to the account page."""
    page.goto(f"{address}/sign-in/?next=/account/")
    page.get_by_role("link", name="Sign in with Example SSO").click()
    page.fill("#id_username", "ada")
    page.fill("#id_password", SECRET)
    page.click("input[type=submit]")
    page.click("input[name=allow]")
    page.wait_for_url(f"{address}/account/")


def main() -> None:
    port = free_port()
    settings = {
        "WHYSTOP_OIDC_ISSUER": f"http://127.0.0.1:{port}/o",
        "WHYSTOP_OIDC_CLIENT_ID": CLIENT,
        "WHYSTOP_OIDC_CLIENT_SECRET": SECRET,
        "WHYSTOP_OIDC_NAME": "Example SSO",
        "WHYSTOP_OIDC_ROLES": "operator=ml",
    }
    with (
        clients.gateway(**settings) as address,
        provider(port, f"{address}/sign-in/oidc/return/"),
        sync_playwright() as playwright,
    ):
        page = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]).new_page()
        sign_in(page, address)
        name = page.locator("h1 .soft").inner_text()
        page.goto(f"{address}/live/")
        page.locator("main a[href*='/live']").first.click()
        composer = page.locator("#composer, .watch-note").first
        composer.wait_for()
        may_talk = composer.get_attribute("id") == "composer"
    if (name, may_talk) != ("ada", True):
        raise SystemExit(f"Signed in as {name!r}; may talk to an agent: {may_talk}.")
    sys.stdout.write("ada signed in with a real OpenID provider, as an operator\n")


if __name__ == "__main__":
    main()
