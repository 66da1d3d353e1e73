"""A real nginx with a configuration as an operator has it, but for its ports and certificate."""

import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

PATIENCE = 60.0  #: seconds
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")  # not in everybody's PATH
NAME = "whystop.example.com"
_WHOLE = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {given}
}}
"""


def documented(page: Path) -> str:
    """The configuration of a page of the documentation."""
    (configuration,) = [block.partition("```")[0] for block in page.read_text().split("```nginx\n")[1:]]
    return configuration


class Nginx:
    """It runs from `start` to `stop`; `certificate` is what clients have to trust."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.http, self.https, self.bare = (_free_port() for _ in range(3))
        self.certificate = folder / "certificate.pem"
        self._server: subprocess.Popen[bytes] | None = None

    def start(self, configuration: str, upstream: int) -> None:
        """As the page has it; on `bare` a proxy with no settings at all, such as people begin with."""
        _make_certificate(self.certificate, self._folder / "key.pem")
        for written, ours in (
            ("127.0.0.1:8321", f"127.0.0.1:{upstream}"),
            ("listen 80;", f"listen 127.0.0.1:{self.http};"),
            ("listen 443 ", f"listen 127.0.0.1:{self.https} "),
            ("/etc/ssl/certs/whystop.pem", str(self.certificate)),
            ("/etc/ssl/private/whystop.key", str(self._folder / "key.pem")),
        ):
            assert written in configuration
            configuration = configuration.replace(written, ours)
        bare = f"server {{ listen 127.0.0.1:{self.bare}; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }}"
        file = self._folder / "nginx.conf"
        file.write_text(_WHOLE.format(folder=self._folder, given=configuration + bare))
        log = self._folder / "error.log"
        self._server = subprocess.Popen([str(NGINX), "-c", str(file), "-e", str(log), "-p", str(self._folder)])
        deadline = time.monotonic() + PATIENCE
        while not _answers(self.https):
            assert self._server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "nginx does not answer"
            time.sleep(0.05)

    def stop(self) -> None:
        """It ends at once."""
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            self._server.wait(PATIENCE)

    def trusting(self) -> ssl.SSLContext:
        """How a client of its speaks https."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        context.check_hostname = False  # it is dialled by its address
        return context


def _make_certificate(certificate: Path, key: Path) -> None:
    given = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    named = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    subprocess.run(
        ["openssl", *given, *named, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
