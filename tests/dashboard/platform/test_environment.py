from pathlib import Path

import pytest

from dashboard.platform.egress.keys import KeyNames
from dashboard.platform.egress.rules import Rules
from dashboard.platform.environment import CHECKOUT, read_environment
from dashboard.platform.errors import StartError


def test_without_any_variable_everything_has_its_default():
    environment = read_environment({})
    assert environment.data_dir == CHECKOUT / ".whystop"
    assert (environment.host, environment.port, environment.simulator_port) == ("127.0.0.1", 8321, 0)
    assert (environment.database_url, environment.https, environment.debug) == ("", False, False)


def test_an_empty_variable_counts_as_unset():
    empty = dict.fromkeys(("WHYSTOP_PORT", "WHYSTOP_DATA_DIR", "DATABASE_URL", "WHYSTOP_HTTPS"), "")
    assert read_environment(empty) == read_environment({})


def test_programs_may_not_script_the_simulator_by_default():
    assert read_environment({}).test_seam is False
    assert read_environment({"WHYSTOP_TEST_SEAM": "1"}).test_seam is True


def test_set_variables_are_read():
    environment = read_environment(
        {
            "WHYSTOP_DATA_DIR": "~/x",
            "WHYSTOP_PORT": " 80 ",
            "WHYSTOP_ALLOWED_HOSTS": "a.example, b.example,",
            "WHYSTOP_HTTPS": "yes",
            "WHYSTOP_CRITERIA": "ours.criteria, more",
            "WHYSTOP_GATEWAY_UNSTORED": "Pass",
        }
    )
    assert environment.data_dir == (Path.home() / "x").resolve()
    assert environment.port == 80
    assert environment.allowed_hosts == ("a.example", "b.example")
    assert environment.https
    assert environment.criteria == ("ours.criteria", "more")
    assert environment.gateway_unstored == "pass"


def test_no_proxy_is_trusted_and_hsts_is_off_by_default():
    silent = read_environment({})
    assert not silent.trusted_proxies
    assert silent.hsts == ""
    told = read_environment({"WHYSTOP_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8,", "WHYSTOP_HSTS": "Preload"})
    assert told.trusted_proxies.trust("10.1.2.3")
    assert told.hsts == "preload"
    with pytest.raises(StartError, match="WHYSTOP_TRUSTED_PROXIES cannot be read: “nginx” is neither an address nor"):
        read_environment({"WHYSTOP_TRUSTED_PROXIES": "127.0.0.1,nginx"})
    with pytest.raises(StartError, match="must be one of host, subdomains, preload, not “yes”"):
        read_environment({"WHYSTOP_HSTS": "yes"})


def test_calls_that_cannot_be_stored_are_refused_by_default():
    assert read_environment({}).gateway_unstored == "refuse"
    with pytest.raises(StartError, match="must be one of refuse, pass, not “maybe”"):
        read_environment({"WHYSTOP_GATEWAY_UNSTORED": "maybe"})


def test_a_shared_folder_must_exist(tmp_path: Path):
    assert read_environment({}).files_dir is None
    assert read_environment({"WHYSTOP_FILES_DIR": str(tmp_path)}).files_dir == tmp_path.resolve()
    with pytest.raises(StartError, match="WHYSTOP_FILES_DIR must be a folder that exists"):
        read_environment({"WHYSTOP_FILES_DIR": str(tmp_path / "missing")})


def test_commands_of_mcp_servers_must_be_enabled_explicitly():
    assert not read_environment({}).mcp_stdio
    assert read_environment({"WHYSTOP_MCP_STDIO": "1"}).mcp_stdio


def test_keys_and_addresses_are_the_defaults_unless_set():
    plain = read_environment({})
    assert (plain.key_names, plain.egress) == (KeyNames.read("*_API_KEY"), None)
    said = read_environment({"WHYSTOP_KEY_NAMES": "HF_TOKEN@hf.example", "WHYSTOP_EGRESS": "public, 10.0.0.0/8"})
    assert (said.key_names, said.egress) == (KeyNames.read("HF_TOKEN@hf.example"), Rules.read("public,10.0.0.0/8"))
    with pytest.raises(StartError, match="WHYSTOP_KEY_NAMES cannot be read: “A KEY” is not a valid entry"):
        read_environment({"WHYSTOP_KEY_NAMES": "A KEY"})
    with pytest.raises(StartError, match="WHYSTOP_EGRESS cannot be read: “all of it” is not a rule"):
        read_environment({"WHYSTOP_EGRESS": "all of it"})


def test_links_lead_to_the_server_where_no_public_url_is_set():
    assert read_environment({}).own_address == "http://127.0.0.1:8321"
    assert read_environment({"WHYSTOP_HOST": "::1", "WHYSTOP_PORT": "80"}).own_address == "http://[::1]:80"
    assert read_environment({"WHYSTOP_HOST": "0.0.0.0"}).own_address == ""
    assert read_environment({"WHYSTOP_PORT": "0"}).own_address == ""


@pytest.mark.parametrize(
    "proxied", [{"WHYSTOP_HTTPS": "1"}, {"WHYSTOP_ALLOWED_HOSTS": "a.example"}, {"WHYSTOP_TRUSTED_PROXIES": "::1"}]
)
def test_links_use_the_public_url_of_a_proxy(proxied: dict[str, str]):
    assert read_environment(proxied).own_address == ""


@pytest.mark.parametrize("value", ["x", "1.5", "-1", "65536", "8321 8322"])
def test_an_invalid_port_is_refused(value: str):
    with pytest.raises(StartError, match=f"not “{value}”"):
        read_environment({"WHYSTOP_PORT": value})


def test_connections_are_limited_by_default():
    environment = read_environment({})
    assert (environment.connections, environment.connections_per_address) == (4096, 256)
    unbounded = read_environment({"WHYSTOP_CONNECTIONS": "0", "WHYSTOP_CONNECTIONS_PER_ADDRESS": " 0 "})
    assert (unbounded.connections, unbounded.connections_per_address) == (0, 0)


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "1e3", "٣", "9" * 10])
def test_an_invalid_number_of_connections_is_refused(value: str):
    with pytest.raises(StartError, match="WHYSTOP_CONNECTIONS must be a whole number from 0, not"):
        read_environment({"WHYSTOP_CONNECTIONS": value})


def test_a_replica_url_that_is_not_postgresql_is_refused_without_quoting_it():
    with pytest.raises(StartError, match="WHYSTOP_REPLICA_URL is not a PostgreSQL address") as refused:
        read_environment({"WHYSTOP_REPLICA_URL": "mysql://me:secret@host/x"})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["localhost:6379", "http://localhost", "redis://host:secret", "redis://[::1", "x"])
def test_an_invalid_redis_url_is_refused_without_its_password(value: str):
    with pytest.raises(StartError, match="REDIS_URL is not a Redis address") as refused:
        read_environment({"REDIS_URL": value})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["redis://", "redis://:p@host:6380/1", "rediss://host", "unix:///run/redis.sock?db=2"]
)
def test_a_redis_url_is_read_unchanged(value: str):
    assert read_environment({"REDIS_URL": value}).redis_url == value
