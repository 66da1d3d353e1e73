"""Every page there is, for what holds of all: `{turn}` is a turn's address, `{id}` and `{other}` are ids of two."""

from collections.abc import Mapping

import pytest
from playwright.sync_api import Browser

from tests.browser.journeys import played

PAGES: Mapping[str, str] = {
    "the timeline": "/",
    "a timeline without turns": "/?q=nothingatall",
    "views": "/timeline/views",
    "a backtest to start": "/timeline/backtest?stop_reason=retry_limit",
    "a turn": "{turn}",
    "a turn at a step": "{turn}?step=3",
    "what was sent and what came back": "{turn}/attempts/1/raw",
    "a transcript": "{turn}/transcript",
    "a run": "/runs/{id}",
    "runs": "/?fold=runs&q=Look+at+this",
    "what if": "{turn}/replay?max_tokens=400",
    "what if with a refused number": "{turn}/replay?max_tokens=0",
    "a sweep": "{turn}/replay/sweep",
    "another try": "{turn}/replay/again?from_record=2",
    "links to share": "{turn}/share",
    "a choice to compare with": "/compare?left={id}",
    "two turns compared": "/compare?left={id}&right={other}",
    "the glossary": "/glossary",
    "a document": "/docs/how-to/gateway",
    "a search of the documents": "/docs/?q=limit",
    "the lint report": "/lint",
    "metrics": "/metrics-board",
    "alerts": "/metrics-board/alerts",
    "a new alert": "/metrics-board/alerts/new",
    "backtests": "/backtests",
    "a new backtest": "/backtests/new",
    "limits": "/backtests/limits",
    "the track record": "/backtests/track-record",
    "the map of limits": "/backtests/limits/map?evaluate=page",
    "import": "/import",
    "the first steps": "/tour",
    "the inbox": "/inbox",
    "a choice of agents": "/live/",
    "agents": "/agents",
    "an agent": "/agents/sim-tools",
    "a new agent": "/agents/+new",
    "connections": "/connections",
    "a connection": "/connections/simulator",
    "a new connection": "/connections/+new",
    "a policy to write": "/policies/new",
    "an agent to talk to": "/agents/sim-essay/live",
    "an agent and its turn": "/agents/sim-essay/live?turn={id}",
    "the account": "/account/",
    "the projects": "/projects/",
    "the members of a project": "/projects/members/",
    "the audit log": "/audit/",
    "what is not there": "/nowhere",
    "the admin": "/admin/",
    "policies": "/policies/",
    "the ledger": "/policies/ledger",
    "changes to agents": "/policies/changes",
    "policies in the admin": "/admin/agents/policy/",
    "a new policy in the admin": "/admin/agents/policy/add/",
    "agents in the admin": "/admin/agents/agent/",
    "a new connection in the admin": "/admin/agents/connection/add/",
    "a new tool server": "/admin/tools/mcpserver/add/",
    "share links": "/admin/sharing/sharelink/",
    "the gateway": "/gateway/",
    "keys": "/gateway/keys",
    "keys in the admin": "/admin/gateway/gatewaykey/",
    "a new alias": "/admin/gateway/alias/add/",
    "webhooks": "/webhooks/",
    "telemetry": "/telemetry/",
    "a new destination": "/admin/telemetry/destination/add/",
}


def addressed(name: str, turn: str, other: str) -> str:
    """The address of a page of this turn."""
    return PAGES[name].format(turn=turn, id=turn.rsplit("/", 1)[1], other=other.rsplit("/", 1)[1])


@pytest.fixture(scope="package")
def other_turn(chrome: Browser, signed_in: dict[str, object], link: str) -> str:
    """The address of a turn that was cut otherwise than `cut_turn`."""
    context = chrome.new_context(base_url=link.split("/sign-in", maxsplit=1)[0], storage_state=signed_in)
    page = context.new_page()
    address = played(page, "sim-essay", "Look at this.", max_tokens=150)
    context.close()
    return address
