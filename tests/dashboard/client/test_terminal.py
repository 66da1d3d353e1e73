"""What a server tells does not steer the terminal of whoever runs `whystop`: models wrote a part of it."""

import json
import os
import pty
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.first_start import CHECKOUT

HOSTILE = "\x1b]52;c;cm0gLXJm\x07\x1b[2J\u202eback\x9b1m"
SHOWN = r"\x1b]52;c;cm0gLXJm\x07\x1b[2J\u202eback\x9b1m"


class Hostile(BaseHTTPRequestHandler):
    """Refuses everything, in such words."""

    def do_GET(self) -> None:
        body = json.dumps({"title": "Conflict", "status": 409, "detail": HOSTILE}).encode()
        self.send_response(409)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_text_from_a_server_is_escaped_in_displayed_messages(terminal: bool):
    server = HTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    near, far = pty.openpty()
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "dashboard.client", "list"],
            cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=far if terminal else subprocess.PIPE, timeout=60,
            env={**os.environ, "WHYSTOP_TOKEN": "x", "WHYSTOP_URL": f"http://127.0.0.1:{server.server_port}"},
        )  # fmt: skip
        said = os.read(near, 4096) if terminal else ran.stderr
    finally:
        server.shutdown()
        server.server_close()
        os.close(near)
        os.close(far)
    assert ran.returncode == 1
    assert (SHOWN if terminal else HOSTILE) in said.decode()
    assert not (terminal and "\x1b" in said.decode())
