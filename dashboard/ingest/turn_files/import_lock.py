"""That one import at a time runs among all threads and processes that share a data folder."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from django.conf import settings
from django.db import connection

from dashboard.ingest.turn_files.import_queue import ImportBusyError
from dashboard.platform.client_gone import ClientConnection, ClientGoneError
from dashboard.platform.database import address_of
from dashboard.platform.postgres.locks import open_lock, try_lock

log = structlog.get_logger(__name__)

LOOKING_SECONDS = 0.05  #: between two looks at whether that of another process has ended

one = threading.Lock()  #: of this process


@contextmanager
def alone(client: ClientConnection, until: float) -> Iterator[None]:
    """Of all threads and processes that share the data folder, for each import may take a gigabyte. Raises
    `ImportBusyError`."""
    while not one.acquire(timeout=LOOKING_SECONDS):
        _may_wait(until, client)
    try:
        with _kept_out_of_other_processes(until, client):
            yield
    finally:
        one.release()


@contextmanager
def _kept_out_of_other_processes(until: float, client: ClientConnection) -> Iterator[None]:
    try:
        descriptor = open_lock(lock_file())
    except OSError as error:  # a data folder that nobody may write to
        log.warning("import_without_lock", why=str(error))
        yield
        return
    try:
        while not try_lock(descriptor):
            _may_wait(until, client)
            time.sleep(LOOKING_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _may_wait(until: float, client: ClientConnection) -> None:
    """Raises where it is too late to wait on, or nobody waits any more."""
    if client.closed.is_set():
        raise ClientGoneError
    if time.monotonic() > until:
        raise ImportBusyError


def lock_file() -> Path:
    """One for each database: what is imported into another is no business of ours."""
    database = hashlib.sha256(address_of(connection.get_connection_params()).encode()).hexdigest()[:12]
    folder: Path = settings.ENVIRONMENT.data_dir
    return folder / f"import-{database}.lock"
