"""Static files: one address for a release, compressed copies, and what happens where nothing can be written."""

import gzip
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static

from dashboard.runtime import static_files


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:

    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path))
    return tmp_path


def test_the_url_of_a_static_file_includes_the_release():
    assert static("css/base.css") == f"/static/{static_files.digest()}/css/base.css"


def test_each_file_that_shrinks_has_a_compressed_copy(data_dir: Path):
    copy = static_files.copies()[static_files.digest()]
    original = Path(settings.BASE_DIR / "static" / "css" / "turn.css").read_bytes()
    assert (copy / "css" / "turn.css").read_bytes() == original
    assert gzip.decompress((copy / "css" / "turn.css.gz").read_bytes()) == original
    assert {path.name for path in (data_dir / "static").iterdir()} == {static_files.digest()}


def test_a_style_sheet_includes_its_imports(data_dir: Path):
    copy = static_files.copies()[static_files.digest()]
    folder = Path(settings.BASE_DIR / "static" / "css")
    page = (copy / "css" / "page.css").read_text()
    assert all((folder / f"{name}.css").read_text() in page for name in ("tokens", "layout", "components"))
    assert "@import" not in page


def test_a_copy_is_created_once_and_others_are_kept_for_thirty_days(data_dir: Path):
    copy = static_files.copies()[static_files.digest()]
    (copy / "mark").touch()
    for name, days in (("0123456789", 1), ("9876543210", 31)):
        (data_dir / "static" / name).mkdir()
        then = time.time() - days * 86_400
        os.utime(data_dir / "static" / name, (then, then))
    assert set(static_files.copies()) == {static_files.digest(), "0123456789"}
    assert (copy / "mark").exists()


def test_a_copy_finished_by_another_process_meanwhile_costs_nothing(data_dir: Path, caplog: pytest.LogCaptureFixture):
    static_files.copies()
    (data_dir / "static" / "unfinished-1").symlink_to(data_dir / "gone")
    assert set(static_files.copies()) == {static_files.digest()}
    assert caplog.text == ""


def test_a_read_only_data_folder_is_reported_and_costs_only_the_compression(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    (data_dir / "static").write_text("a file in its place")
    assert static_files.copies() == {}
    assert "served without compression" in caplog.text
