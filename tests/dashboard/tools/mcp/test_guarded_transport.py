"""Whose certificates are trusted when an MCP server is visited."""

import os
from pathlib import Path

import pytest

from dashboard.tools.mcp.guarded_transport import _trusted


def test_certificate_authorities_are_read_once_until_the_environment_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    usual = _trusted()
    assert usual.get_ca_certs()
    assert _trusted() is usual
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    others = _trusted()
    assert others.get_ca_certs() == []
    os.utime(tmp_path, (1, 1))
    assert _trusted() is not others, "they may have been renewed"
