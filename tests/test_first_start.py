"""The data folder that tests copy for each installation of their own."""

from collections.abc import Callable
from pathlib import Path

from tests.first_start import UNHURRIED


def test_a_copied_data_folder_has_a_key_static_files_and_a_log_of_few_megabytes(
    tmp_path: Path, started_once: Callable[[Path], None]
):
    store = tmp_path / "store"
    started_once(store)
    data = store / "postgres" / "data"
    assert sum(file.stat().st_size for file in (data / "pg_wal").glob("0*")) < 4 * 2**20
    assert (data / "postgresql.auto.conf").read_text().endswith(UNHURRIED)
    assert (store / "secret-key").is_file()
    assert [*(store / "static").iterdir()]
