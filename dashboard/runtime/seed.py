"""What a new database starts with: a connection to the simulator, an agent for each way a model can end, a policy."""

import os

from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.agents import selectors
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Project
from dashboard.agents.samples import Sample
from dashboard.agents.validation import base_url_valid
from dashboard.platform.egress.keys import key_for
from dashboard.platform.errors import StartError
from dashboard.tour.sample_agents import agent_make, connection_make, connection_move, samples_make, simulators_move

#: Who is said to have made what nobody made.
FIRST_START, LATER_START = "the first start", "a later start"
#: Where the simulator is when nobody says otherwise.
SIMULATOR_URL = "http://127.0.0.1:8322/v1"
WHY = "Created by the first start, without overrides."
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
    simulator = samples_make(project, simulator_url=simulator_url or SIMULATOR_URL, why=WHY)
    if simulator_url is not None:
        connection_move(simulator, simulator_url)
        simulators_move(simulator_url)
    if os.environ.get(_OPENAI_KEY):
        _seed_openai(project, os.environ.get("OPENAI_BASE_URL", "").strip())


def _seed_openai(project: Project, chosen: str) -> None:
    try:
        base_url_valid(chosen or _OPENAI_ADDRESS)
        if not key_for(_OPENAI_KEY, chosen or _OPENAI_ADDRESS):
            return
        connection = connection_make(project, name=_OPENAI, base_url=chosen or _OPENAI_ADDRESS, api_key_env=_OPENAI_KEY)
        if chosen:
            connection_move(connection, chosen)
    except ValidationError as error:
        raise StartError(f"OPENAI_BASE_URL is not valid: {' '.join(error.messages)}") from error
    model = os.environ.get("OPENAI_MODEL", "").strip() or _OPENAI_MODEL
    agent_make(project, connection, name=_OPENAI, model=model, sample=Sample(1024, ""))
