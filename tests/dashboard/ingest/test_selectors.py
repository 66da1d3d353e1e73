"""Pages, the API and SQL say where an ingested turn came from, and what is not known of it."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from dashboard.replay.services import turn_verify
from dashboard.runs.selectors import run_get
from dashboard.sealing.checking import check_all
from dashboard.sealing.services import chain_some, seal_make
from dashboard.turns.models import Turn
from tests.dashboard.ingest import exports

pytestmark = pytest.mark.django_db
LOST = "openllmetry-langchain-cuttool"
