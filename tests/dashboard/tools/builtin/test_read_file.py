"""Reading below one folder: what is there is read, and no path, link or device leads out of it or hangs."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agentcore.errors import ErrorType
from dashboard.tools.builtin import read_file as module
from dashboard.tools.selectors import registry
from tests.dashboard.tools.calling import call
from tests.examples import examples

READ = registry.get("read_file")
SECRET = "the-secret-outside"


@pytest.fixture
def shared(tmp_path: Path, settings: Any) -> Path:
    """The shared folder, beside what nobody may read."""
    (tmp_path / "outside.txt").write_text(SECRET)
    folder = tmp_path / "shared"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "plan.txt").write_text("".join(f"step {n}\n" for n in range(1, 1001)))
    (folder / "empty.txt").write_text("")
    settings.FILES_DIR = folder
    return folder


def test_lines_of_a_file_are_read_from_an_offset(shared):
    content = call(READ, path="notes/plan.txt", offset=10, limit=2).content
    assert content == "“notes/plan.txt”, lines 10 to 11 of 1,000:\nstep 10\nstep 11"
    assert call(READ, path="./notes//plan.txt", offset=999).content.endswith("step 999\nstep 1000")


def test_an_offset_beyond_the_end_is_reported(shared):
    assert call(READ, path="notes/plan.txt", offset=2_000).content == (
        "“notes/plan.txt” has 1,000 lines; none from line 2,000 on."
    )
    assert call(READ, path="empty.txt").content == "“empty.txt” has 0 lines; none from line 1 on."


def test_a_folder_is_listed(shared):
    assert call(READ, path=".").content == "“.” is a folder with 2 names:\nempty.txt\nnotes"


@pytest.mark.parametrize(
    "path",
    [
        "../outside.txt",
        "notes/../../outside.txt",
        "/etc/passwd",
        "notes\\..\\x",
        "a\x00b",
        "missing.txt",
        "empty.txt/x",
    ],
)
def test_a_path_outside_the_folder_or_without_a_file_is_refused(shared, path: str):
    failed = call(READ, path=path)
    assert failed.error is ErrorType.TOOL
    assert SECRET not in failed.content


def test_no_symbolic_link_is_followed_anywhere_in_a_path(shared):
    (shared / "link.txt").symlink_to(shared.parent / "outside.txt")
    (shared / "up").symlink_to(shared.parent)
    for path in ("link.txt", "up/outside.txt", "up"):
        failed = call(READ, path=path)
        assert failed.error is ErrorType.TOOL
        assert SECRET not in failed.content
    assert "symbolic links are not followed" in call(READ, path="link.txt").content


def test_a_link_in_place_of_a_folder_is_not_followed(shared):
    (shared / "notes").rename(shared / "old")
    (shared / "notes").symlink_to(shared.parent)
    assert call(READ, path="notes/outside.txt").error is ErrorType.TOOL


def test_a_named_pipe_neither_hangs_nor_is_read(shared):
    os.mkfifo(shared / "pipe")
    assert "is not a regular file" in call(READ, path="pipe").content


def test_a_device_is_not_read(shared, settings):
    settings.FILES_DIR = Path("/dev")
    assert "is not a regular file" in call(READ, path="zero").content


def test_an_oversized_file_is_refused_without_being_read(shared):
    with (shared / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert "at most 10,000,000 are read" in call(READ, path="huge.bin").content


@pytest.mark.parametrize(("raw", "why"), [(b"a\x00b", "zero bytes"), (b"caf\xe9", "not UTF-8 text")])
def test_a_binary_file_is_refused(shared, raw: bytes, why: str):
    (shared / "raw").write_bytes(raw)
    assert why in call(READ, path="raw").content


def test_a_long_line_is_shortened_like_every_output(shared):
    (shared / "long.txt").write_text("x" * 1_000_000)
    assert len(call(READ, path="long.txt").content) < 21_000


def test_an_unreadable_file_is_reported(shared):
    (shared / "mine.txt").write_text(SECRET)
    (shared / "mine.txt").chmod(0)
    failed = call(READ, path="mine.txt")
    assert os.geteuid() == 0 or "it is not permitted" in failed.content


def test_many_names_are_counted_and_some_are_listed(shared, monkeypatch):
    monkeypatch.setattr(module, "MAX_NAMES", 1)
    assert call(READ, path=".").content.endswith("empty.txt\n… and 1 more")


def test_without_a_shared_folder_the_tool_is_unavailable_and_says_why(settings):
    settings.FILES_DIR = None
    assert "read_file" not in [tool.name for tool in registry]
    assert "WHYSTOP_FILES_DIR is not set" in call(READ, path="x").content


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(150))
@given(st.text(alphabet="./\\\x00~noutside.tx*up", max_size=30))
def test_no_path_reaches_anything_outside_the_folder(shared, path: str):
    assert SECRET not in call(READ, path=path).content
