"""A test of a connection finds out what its server does with a last assistant message, and has it used."""

from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from agentcore.prefill import ECHO
from dashboard.agents.models import Connection
from dashboard.agents.probes import Finding
from dashboard.agents.selectors import model_to_test, project_default
from dashboard.agents.services import connection_create, connection_update
from dashboard.live.probe_service import connection_probe
from dashboard.live.turn_startup import settings_of
from dashboard.simulator.dialects import BASES
from tests.dashboard.tiny_server import TinyServer, serving_chat

pytestmark = pytest.mark.django_db(transaction=True)

Dialed = Callable[[str], Connection]
PREFILLING = ("anthropic", "bedrock", "gemini", "ollama", "openai")
FINDINGS = {
    "sim-prefill": Finding.CONTINUES,
    "sim-prefill-echo": Finding.ECHOES,
    "sim-prefill-ignored": Finding.IGNORES,
    "sim-prefill-refused": Finding.REFUSES,
    "sim-500": Finding.UNKNOWN,
    "sim-empty": Finding.UNKNOWN,
    "sim-nobody": Finding.UNKNOWN,
}


@pytest.fixture
def dialed(simulator_url: str, monkeypatch: pytest.MonkeyPatch) -> Dialed:
    """A connection to the simulator in a dialect."""
    monkeypatch.setenv("PROBE_API_KEY", "any")
    origin = simulator_url.removesuffix("/v1")

    def make(provider: str) -> Connection:
        return connection_create(
            project=project_default(),
            name=provider,
            provider=provider,
            base_url=origin + BASES[provider],
            api_key_env="PROBE_API_KEY",
        )

    return make


@pytest.mark.parametrize("provider", PREFILLING)
@pytest.mark.parametrize(("model", "finding"), FINDINGS.items())
def test_the_behaviour_of_a_server_is_detected_in_each_dialect(
    dialed: Dialed, provider: str, model: str, finding: Finding
) -> None:
    connection = dialed(provider)
    probe = connection_probe(connection=connection, model=model)
    assert (probe.finding, probe.model) == (finding, model), probe
    connection.refresh_from_db()
    assert connection.found == probe
    assert connection.probed_at is not None
    used = {"prefill": True} if finding in (Finding.CONTINUES, Finding.ECHOES) else {}
    echo = {ECHO: True} if finding is Finding.ECHOES else {}
    assert connection.continuing == used | echo
    assert settings_of(connection).items() >= (used | echo).items()


@pytest.mark.parametrize("provider", ["cohere", "openai_responses"])
def test_an_api_without_prefill_is_not_tested(dialed: Dialed, provider: str) -> None:
    probe = connection_probe(connection=dialed(provider), model="sim-prefill")
    assert (probe.finding, "was not tested" in probe.why) == (Finding.REFUSES, True)


def test_an_inconclusive_test_keeps_the_settings_and_a_clear_one_sets_them(dialed: Dialed) -> None:
    connection = connection_update(connection=dialed("openai"), changes={"prefill": True})
    connection_probe(connection=connection, model="sim-500")
    assert (connection.prefill, "Could not tell" in connection.found_in_words()) == (True, True)
    connection_probe(connection=connection, model="sim-prefill-ignored")
    assert (connection.prefill, "starts again" in connection.found_in_words()) == (False, True)
    connection_update(connection=connection, changes={"prefill": True})
    assert "An operator has changed the setting" in connection.found_in_words()


def test_results_for_another_url_no_longer_count(dialed: Dialed) -> None:
    connection = dialed("openai")
    connection_probe(connection=connection, model="sim-prefill")
    assert (model_to_test(connection=connection), connection.found is None) == ("sim-prefill", False)
    connection_update(connection=connection, changes={"base_url": "http://127.0.0.1:9/v1"})
    assert connection.found is None
    assert "Not tested since" in connection.found_in_words()
    assert connection_probe(connection=connection, model="any").finding is Finding.UNKNOWN


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("sim-prefill", "It continues a last assistant message. Tested with sim-prefill at"),
        ("sim-prefill-echo", "It continues a last assistant message, but repeats the text first. Tested"),
        ("sim-prefill-ignored", "It does not continue a last assistant message: it starts again. Asked to continue"),
        ("sim-prefill-refused", "It refuses a last assistant message. The server said: This model does not support"),
        ("sim-nobody", "Could not tell whether it continues a last assistant message. The server said: The model"),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_the_admin_page_runs_the_test_and_shows_its_result(
    admin_client: Client, dialed: Dialed, provider: str, model: str, told: str
) -> None:
    connection = dialed(provider)
    fields = ("name", "provider", "base_url", "api_key_env", "hint_role", "max_tokens_field")
    said = {name: getattr(connection, name) for name in fields} | {"test_model": model, "_test": "Save and test"}
    address = reverse("admin:agents_connection_change", args=[connection.pk])
    shown = unescape(admin_client.post(address, said, follow=True).content.decode())
    assert told in shown
    exactly = "what-ifs with another Max tokens per call are exact"
    assert (exactly in shown) is (model in ("sim-prefill", "sim-prefill-echo"))


@pytest.mark.parametrize(
    ("server", "finding", "way"),
    [
        (TinyServer.VLLM, Finding.CONTINUES, "continue_final_message"),
        (TinyServer.MISTRAL, Finding.CONTINUES, "prefix"),
        (TinyServer.CLEVER_CHAT, Finding.UNKNOWN, ""),
        (TinyServer.STRICT_CHAT, Finding.IGNORES, ""),
        (TinyServer.ALWAYS_400, Finding.UNKNOWN, ""),
    ],
)
def test_the_way_a_server_must_be_asked_is_detected(server: TinyServer, finding: Finding, way: str) -> None:
    with serving_chat(server) as (address, asked):
        connection = connection_create(project=project_default(), name="near", provider="openai", base_url=address)
        probe = connection_probe(connection=connection, model="any")
    assert (probe.finding, probe.way) == (finding, way), probe
    assert connection.continuing == ({way: True} if way else {})
    assert len(asked) <= 8, "a test is a few small calls"
    assert all(body["max_tokens"] == 12 for body in asked)
