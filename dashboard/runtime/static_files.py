"""Static files, answered before Django sees the request.

Also holds a copy of every static file in the data folder, with a gzip variant beside each file that shrinks.

The files of one release share an address, `/static/<digest>/…`, which changes with any of them: a browser keeps them
for good and asks for none of them again. Relative imports of modules and `url()`s of style sheets stay within it. A
style sheet that imports others has them in itself.
"""

import contextlib
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from servestatic import ServeStaticASGI
from servestatic.compress import Compressor

logger = logging.getLogger(__name__)

_DIGITS = 10  #: of the digest that an address carries
_LEFT_OUT = ["*.map", "redoc.*"]  #: of the libraries' files: no page of ours asks for them
_IMPORT = re.compile(r'^@import "([\w-]+\.css)";\n', re.MULTILINE)
_KEPT_SECONDS = 30 * 86_400  #: how long copies of other releases are kept, for pages that were opened under them


class ReleaseStorage(StaticFilesStorage):
    """Addresses of static files that change with the release."""

    def url(self, name: str | None) -> str:
        address = super().url(name)
        if settings.DEBUG or not (name and address.startswith(settings.STATIC_URL)):
            return address
        return f"{settings.STATIC_URL}{digest()}/{address.removeprefix(settings.STATIC_URL)}"


def sources() -> Mapping[str, Path]:
    """Every static file by its name: ours from `static/`, and those of the installed apps. The first finder wins."""
    found: dict[str, Path] = {}
    for finder in get_finders():
        for name, storage in finder.list(_LEFT_OUT):
            found.setdefault(name, Path(storage.path(name)))
    return found


@cache
def digest() -> str:
    """Of the names and contents of all static files."""
    sha = hashlib.sha256()
    for name, path in sorted(sources().items()):
        sha.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()[:_DIGITS]


def copies() -> Mapping[str, Path]:
    """The folders with the files of this release and of others, by digest. Empty where no file can be written."""
    folder = settings.ENVIRONMENT.data_dir / "static"
    try:
        _make(folder, digest())
        _forget_old(folder, digest())
    except OSError as error:
        logger.warning("Static files are served without compression: %s", error)
        return {}
    return {copy.name: copy for copy in folder.iterdir() if len(copy.name) == _DIGITS}


def _make(folder: Path, name: str) -> None:
    """Write the copy beside its place and move it there whole; of several processes one does it."""
    if (folder / name).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder))
    try:
        _fill(unfinished)
        unfinished.chmod(0o755)
        unfinished.rename(folder / name)
    except OSError:
        if not (folder / name).exists():
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _fill(folder: Path) -> None:
    compressor = Compressor(use_brotli=False, quiet=True)
    for name, path in sources().items():
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if to.suffix == ".css":
            to.write_text(joined(path), encoding="utf-8")
        else:
            shutil.copyfile(path, to)
        if compressor.should_compress(to.name):
            compressor.compress(to)


def joined(path: Path) -> str:
    """The style sheet, with those beside it in the place of their `@import`: a browser asks for one file, not five."""
    return _IMPORT.sub(lambda found: (path.parent / found[1]).read_text(encoding="utf-8"), path.read_text("utf-8"))


def _forget_old(folder: Path, name: str) -> None:
    before = time.time() - _KEPT_SECONDS
    os.utime(folder / name)
    for copy in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process has finished or removed it meanwhile
            if copy.stat().st_mtime < before:
                shutil.rmtree(copy, ignore_errors=True)


_YEAR = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"
_OPEN_FILE = "http.response.zerocopysend"  #: the extension of ASGI by which a server is given the open file
_CHUNK = 65_536  #: bytes

Event = MutableMapping[str, Any]  #: of ASGI
Send = Callable[[Event], Awaitable[None]]


class _Server(ServeStaticASGI):  # type: ignore[misc] # servestatic is untyped
    """Reads what is asked for on the loop: the files are small, and four changes of thread took most of the time."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] in self.files:
            scope, send = {**scope, "extensions": {_OPEN_FILE: {}}}, _reading(send)
        await super().__call__(scope, receive, send)


def _reading(send: Send) -> Send:
    """`send`, which is given a file's bytes where it would be given the open file."""

    async def sent(event: Event) -> None:
        if event["type"] != _OPEN_FILE:
            await send(event)
            return
        with event["file"] as file:
            file.seek(event["offset"])
            length = event.get("count", os.fstat(file.fileno()).st_size - event["offset"])
            for start in range(0, max(length, 1), _CHUNK):
                chunk, more = file.read(min(length - start, _CHUNK)), start + _CHUNK < length
                await send({"type": "http.response.body", "body": chunk, "more_body": more})

    return sent


def with_static_files(application: Any) -> ServeStaticASGI:
    """`application` with every static file in front of it: compressed and kept for good below the release's address,
    and below `/static/` itself for addresses that do not name a release."""
    server = _Server(
        application,
        autorefresh=settings.DEBUG,
        max_age=None,
        allow_all_origins=False,
        add_headers_function=_add_headers,
    )
    for folder, prefix in _folders():
        server.add_files(folder, prefix=prefix)
    return server


def _folders() -> list[tuple[str, str]]:
    """Each folder with the address of its files."""
    known = {} if settings.DEBUG else copies()
    if digest() in known:
        released = [(str(copy), f"{settings.STATIC_URL}{name}/") for name, copy in known.items()]
        return [*released, (str(known[digest()]), settings.STATIC_URL)]
    # The finders' first is the one that wins; servestatic lets the last win.
    found = [storage.location for finder in get_finders() for storage in finder.storages.values()]  # type: ignore[attr-defined]
    prefixes = (settings.STATIC_URL, f"{settings.STATIC_URL}{digest()}/")
    return [(folder, prefix) for folder in reversed(found) for prefix in prefixes]


def _add_headers(headers: Headers, _path: str, url: str) -> None:
    # A vendored file carries its version in its name, and a release's address changes with any file.
    name = url.removeprefix(settings.STATIC_URL)
    kept = name.startswith("vendor/") or name.split("/", 1)[0] == digest()
    headers["Cache-Control"] = _YEAR if kept else _ASK_FIRST
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
