"""The code beside a key holds this address and this key, and is code."""

import subprocess

import pytest

from dashboard.gateway.snippets import NO_KEY, PYTHON, SHELL, SNIPPETS, snippets_for

FILLED = snippets_for(root="https://why.example", key="whyk_secret", model='an "odd" agent\'s')


@pytest.mark.parametrize("snippet", FILLED, ids=lambda snippet: snippet.id)
def test_every_client_snippet_has_the_address_and_the_key(snippet):
    assert "https://why.example" in snippet.code
    assert "whyk_secret" in snippet.code
    assert "$base" not in snippet.code
    if snippet.language == PYTHON:
        compile(snippet.code, snippet.id, "exec")
    if snippet.language == SHELL:
        subprocess.run(["bash", "-n", "-c", snippet.code], check=True, timeout=10)


def test_a_shell_snippet_sends_the_key_and_valid_headers():
    otlp = next(snippet for snippet in FILLED if snippet.id == "otlp")
    shown = subprocess.run(
        ["bash", "-c", f"{otlp.code}\necho $OTEL_EXPORTER_OTLP_HEADERS"], check=True, capture_output=True, timeout=10
    )
    assert shown.stdout.decode().strip() == "authorization=Bearer%20whyk_secret"


def test_each_client_has_a_snippet_and_none_shows_an_unknown_key():
    assert len({snippet.id for snippet in SNIPPETS}) == 11
    assert all(NO_KEY in snippet.code for snippet in snippets_for(root="http://x", key="", model="m"))
