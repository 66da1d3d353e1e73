"""The simulator's connection and the sample agents of a project, made where they are missing."""

from dashboard.agents import selectors, services
from dashboard.agents.models import Agent, Connection, Policy, Project
from dashboard.agents.samples import SAMPLES, Sample, is_simulator
from dashboard.policies.policy_creation import policy_create
from dashboard.simulator.model_table import SIMULATOR

_CEILING = 16_384  #: tokens of one call, as the simulator itself has it


def samples_make(project: Project, *, simulator_url: str, why: str) -> Connection:
    """A policy without overrides, the connection and an agent for each sample; the connection. What is there stays.

    `why`: why the policy was made, in words."""
    if not Policy.objects.filter(project=project).exists():
        policy_create(project=project, name="default", why=why)
    simulator = connection_make(project, name=SIMULATOR, base_url=simulator_url, ceiling=_CEILING)
    for model, sample in SAMPLES.items():
        agent_make(project, simulator, name=model, model=model, sample=sample)
    return simulator


def samples_copy(project: Project, **_: object) -> None:
    """A receiver of `configuration.signals.project_created`: the samples for a new project, where `default` has the
    simulator. Without it the project stays empty."""
    found = selectors.connection_list(project=selectors.project_default()).filter(name=SIMULATOR).first()
    if found is not None and is_simulator(found):
        samples_make(project, simulator_url=found.base_url, why="Created with the project.")


def simulators_move(base_url: str) -> None:
    """The simulator is at another address from now on, for all projects."""
    for simulator in Connection.objects.filter(name=SIMULATOR):
        if is_simulator(simulator):
            connection_move(simulator, base_url)


def connection_make(
    project: Project, *, name: str, base_url: str, api_key_env: str = "", ceiling: int | None = None
) -> Connection:
    found = selectors.connection_list(project=project).filter(name=name).first()
    return found or services.connection_create(
        project=project,
        name=name,
        provider="openai",
        base_url=base_url,
        api_key_env=api_key_env,
        max_output_tokens=ceiling,
    )


def connection_move(connection: Connection, base_url: str) -> None:
    if connection.base_url != base_url:
        services.connection_update(connection=connection, changes={"base_url": base_url})


def agent_make(project: Project, connection: Connection, *, name: str, model: str, sample: Sample) -> None:
    if Agent.objects.filter(project=project, name=name).exists():
        return
    services.agent_create(
        project=project,
        name=name,
        connection=connection,
        model=model,
        max_tokens=sample.max_tokens,
        tools=sample.tools,
        envelope_schema=sample.envelope_schema,
        policy=Policy.objects.filter(project=project, name="default").first(),
    )
