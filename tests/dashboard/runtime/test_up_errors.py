"""What keeps `manage.py up` from starting is said in one sentence, with a non-zero exit and no traceback."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import running_postgres
from tests.nightly import nightly

from .conftest import Up

Start = Callable[..., Up]


def sentence(started: Up) -> str:
    code, output, errors = started.ended()
    assert code != 0
    assert output == ""
    assert "Traceback" not in errors
    assert errors.count("\n") == 1
    assert errors.endswith(".\n")
    return errors


def test_a_port_in_use_is_reported_before_any_database_is_created(up: Start, busy_port: int, data_dir: Path):
    assert f"Port {busy_port} on 127.0.0.1 is in use" in sentence(up(WHYSTOP_PORT=str(busy_port)))
    assert not (data_dir / "postgres").exists()


def test_a_simulator_port_in_use_is_reported(up: Start, busy_port: int):
    assert "WHYSTOP_SIMULATOR_PORT" in sentence(up(WHYSTOP_SIMULATOR_PORT=str(busy_port)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("WHYSTOP_PORT", "http", "WHYSTOP_PORT must be a port number from 0 to 65535, not “http”."),
        nightly("WHYSTOP_PORT", "70000", "WHYSTOP_PORT must be a port number"),
        nightly("WHYSTOP_SIMULATOR_PORT", "-1", "WHYSTOP_SIMULATOR_PORT must be a port number"),
        nightly("WHYSTOP_HTTPS", "perhaps", "WHYSTOP_HTTPS must be 1 or 0"),
        nightly("WHYSTOP_LOG_LEVEL", "loud", "WHYSTOP_LOG_LEVEL must be one of DEBUG, ERROR, INFO, WARNING"),
        nightly("WHYSTOP_HOST", "no.such.host.invalid", "There is no host “no.such.host.invalid”"),
        nightly("WHYSTOP_HOST", "192.0.2.1", "192.0.2.1 is not an address of this machine"),
        nightly("WHYSTOP_DATA_DIR", "/sys/whystop", "The data folder /sys/whystop is not open to this user"),
        nightly("WHYSTOP_BOOTSTRAP_TOKEN", "with space", "WHYSTOP_BOOTSTRAP_TOKEN must be 24 or more"),
        nightly("DATABASE_URL", "not a url", "DATABASE_URL is not a PostgreSQL address"),
        nightly("DATABASE_URL", "mysql://localhost/x", "DATABASE_URL is not a PostgreSQL address"),
        ("DATABASE_URL", "postgresql://u:half%2@localhost/x", "DATABASE_URL is not a PostgreSQL address"),
        nightly("DATABASE_URL", "postgresql://localhost", "DATABASE_URL names no database"),
        ("DATABASE_URL", "postgresql://u:p@127.0.0.1:1/x", "does not answer at 127.0.0.1:1"),
        nightly("DATABASE_URL", "postgresql://u:p@no.such.host.invalid/x", "there is no host “no.such.host.invalid”"),
    ],
)
def test_an_invalid_variable_is_reported(up: Start, name: str, value: str, words: str):
    said = sentence(up(**{name: value}))
    assert words in said
    assert "half" not in said


@pytest.mark.nightly  # refused where a wrong password is, in other words
def test_a_missing_database_is_reported(up: Start, data_dir: Path):
    with running_postgres(data_dir, on_message=lambda message: None) as url:
        assert "has no database “other”" in sentence(up(DATABASE_URL=f"{url.rpartition('/')[0]}/other"))


@pytest.mark.nightly  # a wrong password is the same refusal in other words
def test_a_missing_database_user_is_reported(up: Start, data_dir: Path):
    with running_postgres(data_dir, on_message=lambda message: None) as url:
        assert "knows no user “me”" in sentence(up(DATABASE_URL=url.replace("whystop@", "me@")))


@pytest.mark.nightly
def test_a_wrong_password_is_reported(up: Start, data_dir: Path):
    with running_postgres(data_dir, on_message=lambda message: None) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
            path = Path(connection.execute("SHOW hba_file").fetchone()[0])
            path.write_text("local all guest scram-sha-256\n" + path.read_text())
            connection.execute("SELECT pg_reload_conf()")
        wrong = url.replace("whystop@", "guest:hunter2@")
        said = sentence(up(DATABASE_URL=wrong))
        assert "does not accept the password of user “guest”" in said
        assert "hunter2" not in said


@pytest.mark.nightly
def test_a_user_who_may_not_create_tables_is_reported(up: Start, data_dir: Path):
    with running_postgres(data_dir, on_message=lambda message: None) as url:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE ROLE guest LOGIN")
        said = sentence(up(DATABASE_URL=url.replace("whystop@", "guest@")))
        assert "may not create the tables" in said
