"""A ZIP of turn files comes in as one, whoever made it: each file told by itself, nothing unbounded."""

import struct
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from dashboard.ingest.turn_files import zip_import
from dashboard.ingest.turn_files.zip_export import turns_bundle
from dashboard.ingest.turn_files.zip_import import FileOutcome, bundle_import
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.ingest.turn_files.test_services import erase

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("imports_here")]


def zipped(files: dict[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    bundle = BytesIO()
    with ZipFile(bundle, "w", method) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return bundle.getvalue()


def exported(*turns: Turn) -> bytes:
    with turns_bundle([turn.id for turn in turns]) as bundle:
        return bundle.read()


def words(outcome: FileOutcome) -> str:
    return " ".join(said for _, said in outcome.faults)


def sent(browser: Client, content: bytes):
    return browser.post("/import", {"file": SimpleUploadedFile("turns.zip", content)})


def test_a_bundle_is_restored_and_importing_it_again_changes_nothing(browser: Client, play: Play):
    turns = [play("sim-essay", max_tokens=60), play("sim-odd")]
    bundle = exported(*turns)
    for turn in turns:
        erase(turn)
    html = sent(browser, bundle).content.decode()
    assert "<b>2</b>\u00a0turns imported" in html
    assert {turn.id for turn in Turn.objects.all()} == {turn.id for turn in turns}
    for turn in turns:
        assert f'href="/turns/{turn.id}"' in html
    again = sent(browser, bundle).content.decode()
    assert "<b>0</b>\u00a0turns imported" in again
    assert again.count("imported before") == 2


def test_a_refused_file_does_not_block_others(browser: Client, play: Play):
    turn = play("sim-odd")
    with ZipFile(BytesIO(exported(turn))) as packed:
        good = packed.read(f"turn-{turn.id}.json")
    erase(turn)
    files = {"a<b>.json": b"{}", "b.json": good, "c/": b"", "d.zip": zipped({"x": b"y"}), "left-out.txt": b"none"}
    response = sent(browser, zipped(files))
    html = response.content.decode()
    assert response.status_code == 200
    assert "<b>1</b>\u00a0turn imported" in html
    assert "of <b>3</b>\u00a0files" in html
    assert "a&lt;b&gt;.json" in html
    assert Turn.objects.get().id == turn.id


def test_nothing_is_stored_where_every_file_is_refused(browser: Client, db: None):
    assert sent(browser, zipped({"a.json": b"{}"})).status_code == 422


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (zipped({}), "contains no files"),
        (zipped({"a.json": b"{}"})[:-30], "This ZIP cannot be read"),
        (b"PK\x03\x04" + b"nothing", "This ZIP cannot be read"),
        (zipped({f"{n}.json": b"" for n in range(202)}), "may hold 200 turn files"),
        (b"PK\x03\x04" + zip_import.LISTED * 1_001, "may hold 200 turn files"),
    ],
    ids=["empty", "cut", "none", "too many", "a list without end"],
)
def test_an_input_that_is_not_a_bundle_is_refused_with_an_explanation(db: None, content: bytes, told: str):
    with pytest.raises(ValidationError, match=told):
        bundle_import(content=content)


def test_a_zip_bomb_is_not_decompressed_beyond_the_turn_file_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zip_import, "MAX_BYTES", 1_000)
    bomb = zipped({"bomb.json": b" " * 50_000_000})
    small = bomb.replace(struct.pack("<L", 50_000_000), struct.pack("<L", 900))
    for content in (bomb, small):
        (outcome,) = bundle_import(content=content)
        assert outcome.made is None
        assert "this one has more" in words(outcome) or "damaged" in words(outcome)


def test_the_total_size_of_many_files_is_limited():
    outcomes = bundle_import(content=zipped({"1": b"x" * 60, "2": b"x" * 60, "3": b"x"}), most_bytes=100)
    assert ["Import it separately" in words(outcome) for outcome in outcomes] == [False, False, True]


def test_unsupported_compression_encryption_and_damage_are_reported():
    (bzip,) = bundle_import(content=zipped({"a.json": b"{}"}, ZIP_BZIP2))
    assert "deflate" in words(bzip)
    locked = bytearray(zipped({"a.json": b"{}"}))
    locked[locked.index(zip_import.LISTED) + 8] |= 1
    (outcome,) = bundle_import(content=bytes(locked))
    assert "encrypted" in words(outcome)
    damaged = zipped({"a.json": b"{" * 500}).replace(b"a.json", b"b.json", 1)
    (outcome,) = bundle_import(content=damaged)
    assert "damaged" in words(outcome)


def test_file_names_are_shown_printable_and_shortened():
    (outcome,) = bundle_import(content=zipped({"a\u202e\n" + "b" * 5_000: b"{}"}))
    assert outcome.name.startswith("a��b")
    assert len(outcome.name) == 101


def test_a_bundle_of_folders_contains_nothing():
    with pytest.raises(ValidationError, match="contains no files"):
        bundle_import(content=zipped({"only/": b""}))
