import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db import connection as database

from agentcore.providers import PROVIDERS
from dashboard.accounts.models import User
from dashboard.agents import selectors, services
from dashboard.agents.models import PolicyVersion
from dashboard.policies.policy_creation import policy_create

pytestmark = pytest.mark.django_db


def faults(refused: pytest.ExceptionInfo[ValidationError]) -> dict[str, list[str]]:
    return refused.value.message_dict


def test_one_project_exists_from_the_start_and_is_recreated_if_missing(project):
    assert project.name == "default"
    project.delete()
    assert selectors.project_default().name == "default"


def test_all_faults_of_a_connection_are_reported_by_field(project):
    with pytest.raises(ValidationError) as refused:
        services.connection_create(
            project=project,
            name="my connection",
            provider="delphi",
            base_url="ftp://host",
            api_key_env="sk-abc",
            max_output_tokens=0,
            hint_role="robot",
            max_tokens_field="tokens",
        )
    assert faults(refused).keys() == {
        "name",
        "provider",
        "base_url",
        "api_key_env",
        "max_output_tokens",
        "hint_role",
        "max_tokens_field",
    }


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_a_prefill_can_only_be_set_where_the_dialect_supports_it(project, provider):
    def create(prefill):
        return services.connection_create(
            project=project, name=f"c-{prefill}", provider=provider, base_url="http://host", prefill=prefill
        )

    assert create(False).prefill is False
    if provider in ("openai_responses", "cohere"):
        with pytest.raises(ValidationError) as refused:
            create(True)
        assert f"{provider} cannot continue an assistant message" in faults(refused)["prefill"][0]
    else:
        assert create(True).prefill is True


def test_names_are_unique_within_a_project(project, connection):
    with pytest.raises(ValidationError) as refused:
        services.connection_create(project=project, name="near", provider="openai", base_url="http://host")
    assert faults(refused) == {"name": ["The name “near” is taken by another connection; choose another."]}


def test_an_agent_within_the_ceiling_of_its_connection_is_created(project, connection):
    agent = services.agent_create(
        project=project, name="essay", connection=connection, model="m", max_tokens=4096, envelope_schema={}
    )
    assert selectors.agent_get(project=project, name="essay") == agent
    assert agent.id.version == 7


@pytest.mark.parametrize(("max_tokens", "words"), [(0, "from 1 to 10,000,000"), (1_000_000, "at most 4,096 tokens")])
def test_an_agent_beyond_the_ceiling_is_refused(project, connection, max_tokens, words):
    with pytest.raises(ValidationError) as refused:
        services.agent_create(project=project, name="a", connection=connection, model="m", max_tokens=max_tokens)
    assert words in faults(refused)["max_tokens"][0]


def test_an_agents_tools_schema_and_mode_are_checked(project, connection):
    with pytest.raises(ValidationError) as refused:
        services.agent_create(
            project=project,
            name="a",
            connection=connection,
            model="",
            max_tokens=1,
            tools=["rm"],
            envelope_schema={"$ref": "https://example.com"},
            gateway_mode="sing",
        )
    assert faults(refused).keys() == {"model", "tools", "envelope_schema", "gateway_mode"}


def test_a_ceiling_cannot_be_set_below_what_an_agent_requests(project, connection):
    services.agent_create(project=project, name="essay", connection=connection, model="m", max_tokens=4096)
    with pytest.raises(ValidationError, match="“essay” requests 4,096"):
        services.connection_update(connection=connection, changes={"max_output_tokens": 100})


def test_the_context_window_is_also_a_ceiling(connection):
    services.connection_update(connection=connection, changes={"context_window": 1000})
    assert connection.ceiling == 1000


def test_an_update_changes_only_the_given_fields(connection):
    services.connection_update(connection=connection, changes={"max_output_tokens": 20, "hint_role": "user"})
    connection.refresh_from_db()
    assert (connection.max_output_tokens, connection.hint_role) == (20, "user")
    with pytest.raises(ValidationError, match="no field “project”"):
        services.connection_update(connection=connection, changes={"project": None})


def test_a_policy_gets_its_next_version_under_the_same_name(project):
    first = policy_create(project=project, name="wide", limits={"continuation_max_attempts": 9})
    second = policy_create(project=project, name="wide", error_policy={"preset": "retry_all"})
    assert (first.version, second.version) == (1, 2)
    assert first.limits == {"max_continuations": 9}
    assert first.policy == second.policy
    assert selectors.policy_version_latest(policy=first.policy) == second
    assert selectors.policy_version_get(policy=first.policy, version=1) == first


def test_an_agent_without_policy_has_no_version():
    assert selectors.policy_version_latest(policy=None) is None


def test_all_faults_of_a_policy_are_reported_by_field(project):
    with pytest.raises(ValidationError) as refused:
        policy_create(
            project=project, name="wide", limits={"x": 1}, error_policy={"preset": 1}, tool_calls_on_truncation="no"
        )
    assert faults(refused).keys() == {"limits", "error_policy", "tool_calls_on_truncation"}
    with pytest.raises(ValidationError) as refused:
        policy_create(project=project, name="a b")
    assert faults(refused).keys() == {"name"}


@pytest.fixture
def version(project) -> PolicyVersion:
    user = User.objects.create(username="ada")
    return policy_create(project=project, name="wide", created_by=user)


def test_the_database_refuses_to_change_a_version(version):
    with pytest.raises(IntegrityError, match="append-only: UPDATE was refused"), transaction.atomic():
        PolicyVersion.objects.update(limits={"max_steps": 1})
    with pytest.raises(IntegrityError, match="append-only: DELETE was refused"), transaction.atomic():
        version.policy.delete()
    version.refresh_from_db()
    assert version.limits == {}


def test_during_erasure_a_version_can_be_deleted_but_never_changed(version):
    with database.cursor() as cursor:
        cursor.execute("SET LOCAL whystop.erasing = 'on'")
    with pytest.raises(IntegrityError, match="UPDATE was refused"), transaction.atomic():
        PolicyVersion.objects.update(version=5)
    version.policy.delete()
    assert not PolicyVersion.objects.exists()


def test_a_user_who_created_versions_can_be_deleted_and_is_anonymized(version):
    User.objects.all().delete()
    version.refresh_from_db()
    assert version.created_by is None
