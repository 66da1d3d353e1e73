"""An import runs alone, in a process that is ended when it takes too much; the server goes on meanwhile."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import ApiToken, User
from dashboard.ingest.turn_files import import_lock, import_runner
from dashboard.ingest.turn_files.import_access import ENDED
from dashboard.ingest.turn_files.import_queue import ImportBusyError
from dashboard.ingest.turn_files.import_runner import (
    file_import_apart,
    log_import_apart,
    turn_import_apart,
)
from dashboard.ingest.turn_files.zip_import import bundle_import
from dashboard.turns.models import Turn
from tests.dashboard import importing
from tests.dashboard.api.conftest import Program, api  # noqa: F401 - a fixture
from tests.dashboard.driving import Play
from tests.dashboard.ingest.logs.samples import FILES
from tests.dashboard.ingest.turn_files.test_services import erase
from tests.dashboard.ingest.turn_files.test_zip_import import exported, words

pytestmark = pytest.mark.django_db(transaction=True)

LIMITED = """
import sys; sys.path.insert(0, ".")
from dashboard.ingest.turn_files import import_process
import_process.MOST_MEMORY = 64 * 2**20
import_process.limit()
try:
    bytearray(128 * 2**20)
except MemoryError:
    print("bounded")
"""


def bomb(files: int) -> bytes:
    """A ZIP of few bytes with many megabytes of values."""
    bundle = BytesIO()
    with ZipFile(bundle, "w", ZIP_DEFLATED) as packed:
        for number in range(files):
            packed.writestr(f"{number}.json", b"[" + b"[]," * 15_000_000)
    return bundle.getvalue()


def test_a_zip_bomb_is_not_decompressed_beyond_the_limit():
    content, began = bomb(3), time.perf_counter()
    assert len(content) < 500_000
    outcomes = bundle_import(content=content)
    assert ["too many bytes for a ZIP of this size" in words(outcome) for outcome in outcomes] == [True] * 3
    assert time.perf_counter() - began < 10


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound the address space")
def test_the_memory_of_the_process_is_limited():
    ran = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "bounded"


def test_an_import_that_takes_too_long_is_stopped_and_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(import_runner, "MOST_WALL_SECONDS", 0.05)
    with pytest.raises(ValidationError, match="was stopped"):
        turn_import_apart(read=lambda: b"{}", by=None, unverified=False)


def test_while_one_import_runs_the_next_one_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
    browser: Client,
    api: Program,  # noqa: F811 - the fixture
):
    monkeypatch.setattr(import_runner, "WAITING_SECONDS", 0.01)
    monkeypatch.setattr(import_lock, "seconds_left", lambda ahead: 40 + ahead)
    began, over = threading.Event(), threading.Event()

    def slow() -> bytes:
        began.set()
        over.wait(20)
        raise ValidationError("It was taken back.")

    def first() -> None:
        with pytest.raises(ValidationError, match="taken back"):
            turn_import_apart(read=slow, by=None, unverified=False)

    thread = threading.Thread(target=first)
    thread.start()
    assert began.wait(10)
    with pytest.raises(ImportBusyError, match="Other imports are running"):
        file_import_apart(read=lambda: b"{}", by=None, unverified=False)
    answer = api.post("/turns/import", b"{}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "41")
    page = browser.post("/import", {"file": SimpleUploadedFile("turn.json", b"{}")})
    assert (page.status_code, "Other imports are running" in page.content.decode()) == (503, True)
    assert page["Retry-After"] == "41"
    over.set()
    thread.join(20)


def test_turns_imported_from_a_zip_before_its_process_ended_are_kept_and_reported(play: Play):
    turn = play("sim-odd")
    content = exported(turn)
    erase(turn)
    made = file_import_apart(read=lambda: content, by=None, unverified=False)
    assert made.bundle
    assert [outcome.word for outcome in made.outcomes] == ["imported"]
    told = import_runner._broken_off([("", import_runner.TOO_LONG)], True, list(made.outcomes))
    assert [(outcome.name, outcome.word) for outcome in told.outcomes][1:] == [(import_runner.REST, "refused")]
    assert Turn.objects.get().id == turn.id


def test_the_process_also_reads_logs():
    told = log_import_apart(read=lambda: FILES["claude"] + b"nonsense\n", by=None, name="s1.jsonl", dry=False)
    assert (told.turns, told.refused, told.last) == (2, 1, Turn.objects.order_by("id").last().id)


def test_the_process_of_the_next_import_loads_while_it_waits(monkeypatch: pytest.MonkeyPatch):
    happened: list[str] = []

    @contextmanager
    def process() -> Iterator[Any]:
        happened.append("its process begins")
        with importing.here() as one:
            yield one

    @contextmanager
    def alone(*_: object) -> Iterator[None]:
        happened.append("it waits for its turn")
        yield

    def read() -> bytes:
        happened.append("its file is read")
        return b"{}"

    monkeypatch.setattr(import_runner, "_process", process)
    monkeypatch.setattr(import_runner, "alone", alone)
    with pytest.raises(ValidationError):
        turn_import_apart(read=read, by=None, unverified=False)
    assert happened == ["its process begins", "it waits for its turn", "its file is read"]


ENDINGS: dict[str, Callable[[], object]] = {
    "token": lambda: ApiToken.objects.update(revoked_at=timezone.now()),
    "account": lambda: User.objects.update(is_active=False),
    "role": lambda: User.objects.update(is_superuser=False),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("path", ["/logs/import", "/turns/import"])
def test_nothing_is_imported_for_a_user_who_loses_access_while_waiting(
    monkeypatch: pytest.MonkeyPatch,
    api: Program,  # noqa: F811 - the fixture
    ending: str,
    path: str,
):
    @contextmanager
    def waited(*_: object) -> Iterator[None]:
        User.objects.update(is_superuser=True)
        for user in User.objects.all():
            user.groups.clear()
        ENDINGS[ending]()
        yield

    monkeypatch.setattr(import_runner, "alone", waited)
    answer = api.post(path, FILES["claude"])
    assert (answer.status_code, ENDED in answer.content.decode()) == (400, True)
    assert not Turn.objects.exists()


def test_nothing_is_imported_from_a_session_that_ends_while_waiting(monkeypatch: pytest.MonkeyPatch, browser: Client):
    @contextmanager
    def waited(*_: object) -> Iterator[None]:
        Session.objects.all().delete()
        yield

    monkeypatch.setattr(import_runner, "alone", waited)
    page = browser.post("/import", {"file": SimpleUploadedFile("s.jsonl", FILES["claude"])})
    assert (page.status_code, ENDED in page.content.decode()) == (422, True)
    assert not Turn.objects.exists()


@pytest.mark.parametrize("path", ["/turns/import", "/logs/import"])
def test_an_empty_body_is_refused_before_a_process_is_loaded(api: Program, monkeypatch: pytest.MonkeyPatch, path: str):  # noqa: F811
    monkeypatch.setattr(import_runner, "_process", lambda: pytest.fail("a process was loaded"))
    assert api.post(path, b"").status_code == 400


@pytest.mark.parametrize("body", [b"x", b"PK\x03\x04", b"\xef\xbb\xbf <html>"])
def test_a_body_that_cannot_be_json_is_refused_as_the_import_would(
    api: Program,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
):
    with pytest.raises(ValidationError) as expected:
        turn_import_apart(read=lambda: body, by=None, unverified=False)
    monkeypatch.setattr(import_runner, "_process", lambda: pytest.fail("a process was loaded"))
    answer = api.post("/turns/import", body)
    assert answer.status_code == 400
    assert expected.value.messages[0] in answer.content.decode()
