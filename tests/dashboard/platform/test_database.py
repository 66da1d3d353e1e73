import pytest

from dashboard.platform.database import database_settings
from dashboard.platform.errors import StartError


def test_a_url_becomes_djangos_settings():
    settings = database_settings("postgresql://me:p%40ss@db.example:5433/why?sslmode=require")
    assert [settings[name] for name in ("HOST", "PORT", "NAME", "USER", "PASSWORD")] == [
        "db.example",
        "5433",
        "why",
        "me",
        "p@ss",
    ]
    assert settings["OPTIONS"]["sslmode"] == "require"
    assert settings["OPTIONS"]["pool"]
    assert settings["CONN_HEALTH_CHECKS"]
    assert settings["CONN_MAX_AGE"] == 0


def test_a_socket_folder_may_be_the_host():
    assert database_settings("postgresql://me@%2Frun%2Fwhy/why")["HOST"] == "/run/why"


def test_no_url_means_the_embedded_server():
    assert database_settings("")["ENGINE"] == "dashboard.platform.embedded_backend"


@pytest.mark.parametrize(("given", "waits"), {"": 10, "?connect_timeout=1": 2, "?connect_timeout=0": 10}.items())
def test_the_pool_waits_for_a_connection_twice_as_long_as_the_url_says(given: str, waits: int):
    assert database_settings(f"postgresql://host/why{given}")["OPTIONS"]["pool"]["timeout"] == waits


@pytest.mark.parametrize("url", ["x", "sqlite:///x", "postgresql://u:secret%2@h/x", "postgresql://h:port:secret/x"])
def test_an_invalid_url_is_refused_without_quoting_it(url: str):
    with pytest.raises(StartError, match="DATABASE_URL") as caught:
        database_settings(url)
    assert "secret" not in str(caught.value)
