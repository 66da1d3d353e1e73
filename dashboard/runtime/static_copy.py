"""A copy of every static file in the data folder, with a gzip variant beside each file that shrinks.

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
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import StaticFilesStorage
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
