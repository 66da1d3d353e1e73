from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashboard.platform.postgres import PostgresError
from dashboard.platform.secret_key import secret_key_of


def test_the_key_is_created_once_and_readable_only_by_its_owner(tmp_path: Path):
    key = secret_key_of(tmp_path / "new")
    assert len(key) > 50
    assert secret_key_of(tmp_path / "new") == key
    (file,) = (tmp_path / "new").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_two_folders_have_two_keys(tmp_path: Path):
    assert secret_key_of(tmp_path / "one") != secret_key_of(tmp_path / "two")


def test_simultaneous_processes_get_the_same_key(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: secret_key_of(tmp_path), range(32)))) == 1


def test_a_folder_that_cannot_be_created_is_reported_in_a_sentence():
    with pytest.raises(PostgresError, match=r"^The data folder /sys/x is .*\.$"):
        secret_key_of(Path("/sys/x"))
