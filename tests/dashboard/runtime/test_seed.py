import pytest

from dashboard.agents import selectors
from dashboard.platform.errors import StartError
from dashboard.runtime.database_setup import seed

ONE, OTHER = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def without_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


def names() -> set[str]:
    return {agent.name for agent in selectors.agent_list(project=selectors.project_default())}


def base_url(name: str) -> str:
    return selectors.connection_get(project=selectors.project_default(), name=name).base_url


def test_each_way_a_model_can_end_has_an_agent():
    seed(simulator_url=ONE)
    ways = {"essay", "endless", "tools", "cut-tool", "refuse", "flaky", "hangup", "odd", "json"}
    assert names() == {f"sim-{way}" for way in ways}
    essay = selectors.agent_get(project=selectors.project_default(), name="sim-essay")
    assert (essay.model, essay.max_tokens, essay.policy.name) == ("sim-essay", 150, "default")


def test_a_second_start_changes_only_the_url_of_the_simulator():
    seed(simulator_url=ONE)
    essay = selectors.agent_get(project=selectors.project_default(), name="sim-essay")
    essay.max_tokens = 60
    essay.save()
    seed(simulator_url=OTHER)
    assert base_url("simulator") == OTHER
    assert selectors.agent_get(project=selectors.project_default(), name="sim-essay").max_tokens == 60
    assert len(names()) == 9


def test_a_key_in_the_environment_adds_an_agent_that_knows_only_its_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2hunter2")
    seed(simulator_url=ONE)
    openai = selectors.agent_get(project=selectors.project_default(), name="openai")
    assert openai.connection.api_key_env == "OPENAI_API_KEY"
    assert openai.connection.base_url == "https://api.openai.com/v1"


def test_another_url_for_the_key_is_applied_at_each_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2hunter2")
    seed(simulator_url=ONE)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    seed(simulator_url=ONE)
    assert base_url("openai") == "http://127.0.0.1:9/v1"


def test_an_invalid_url_is_reported_in_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2hunter2")
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    with pytest.raises(StartError, match=r"^OPENAI_BASE_URL .*\.$"):
        seed(simulator_url=ONE)
