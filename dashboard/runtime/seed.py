"""What a new database starts with: a connection to the simulator, an agent for each way a model can end, a policy."""

import os

from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.agents import selectors, services
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Agent, Connection, Policy, Project
from dashboard.agents.samples import SAMPLES, SIMULATOR, Sample
from dashboard.agents.validation import base_url_valid
from dashboard.egress.keys import key_for
from dashboard.runtime.errors import StartError

#: Who is said to have made what nobody made.
FIRST_START, LATER_START = "the first start", "a later start"
#: Where the simulator is when nobody says otherwise.
SIMULATOR_URL = "http://127.0.0.1:8322/v1"
_SIMULATOR_CEILING = 16_384  #: tokens of one call, as the simulator itself has it
_OPENAI = "openai"
_OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_ADDRESS = "https://api.openai.com/v1"
_OPENAI_MODEL = "gpt-4.1-mini"


@transaction.atomic
def seed(*, simulator_url: str | None) -> None:
    """Makes what is missing and leaves alone what somebody changed, but for addresses that this start decides.

    `simulator_url`: where the simulator is this time; None leaves it where it was. With OPENAI_API_KEY there is an
    agent `openai` too, at OPENAI_BASE_URL and with OPENAI_MODEL where these are set.
    """
    project = selectors.project_default()
    known = selectors.connection_list(project=project).exists()
    with on_behalf(LATER_START if known else FIRST_START):
        _seed(project, simulator_url)


def _seed(project: Project, simulator_url: str | None) -> None:
    _policy(project)
    address = simulator_url or SIMULATOR_URL
    simulator = _connection(project, name=SIMULATOR, base_url=address, ceiling=_SIMULATOR_CEILING)
    if simulator_url is not None:
        _move(simulator, simulator_url)
    for model, sample in SAMPLES.items():
        _agent(project, simulator, name=model, model=model, sample=sample)
    if os.environ.get(_OPENAI_KEY):
        _seed_openai(project, os.environ.get("OPENAI_BASE_URL", "").strip())


def _seed_openai(project: Project, chosen: str) -> None:
    try:
        base_url_valid(chosen or _OPENAI_ADDRESS)
        if not key_for(_OPENAI_KEY, chosen or _OPENAI_ADDRESS):
            return
        connection = _connection(project, name=_OPENAI, base_url=chosen or _OPENAI_ADDRESS, api_key_env=_OPENAI_KEY)
        if chosen:
            _move(connection, chosen)
    except ValidationError as error:
        raise StartError(f"OPENAI_BASE_URL is not valid: {' '.join(error.messages)}") from error
    model = os.environ.get("OPENAI_MODEL", "").strip() or _OPENAI_MODEL
    _agent(project, connection, name=_OPENAI, model=model, sample=Sample(1024, ""))


def _policy(project: Project) -> None:
    if not Policy.objects.filter(project=project).exists():
        services.policy_create(project=project, name="default", why="Created by the first start, without overrides.")


def _connection(
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


def _move(connection: Connection, base_url: str) -> None:
    if connection.base_url != base_url:
        services.connection_update(connection=connection, changes={"base_url": base_url})


def _agent(project: Project, connection: Connection, *, name: str, model: str, sample: Sample) -> None:
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
