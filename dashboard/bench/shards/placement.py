"""Where each table is placed when projects are spread over several databases. A table that is missing fails a test.

project      one table in the schema of each project, on the node of that project
reference    one copy on each node: rows of every project refer to it by foreign keys
coordinator  one table on the node that clients connect to: sign-in, queue, seals, whatever is not of one project
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class By:
    """How the project of a row is found: in a column of its own, or in the row that `column` refers to."""

    column: str
    table: str = ""  #: whose row has the project; empty: the column is the project
    key: str = "id"  #: of that table


PROJECT_ID = By("project_id")
TURN = By("turn_id", "turns_turn")
#: One row for the whole installation, which each schema begins without.
NOTHING = By("")
#: Nodes have no project, but those of a project are those that its turns reach.
NODES = "turns_node"

PROJECT: Final[Mapping[str, By]] = {
    "agents_agent": PROJECT_ID,
    "agents_agentchange": PROJECT_ID,
    "agents_connection": PROJECT_ID,
    "agents_connectionchange": PROJECT_ID,
    "agents_policy": PROJECT_ID,
    "agents_policyactivation": By("policy_id", "agents_policy"),
    "agents_policyattachment": PROJECT_ID,
    "agents_policyattachmentchange": PROJECT_ID,
    "agents_policyversion": By("policy_id", "agents_policy"),
    "alerting_alert": PROJECT_ID,
    "alerting_alertchange": PROJECT_ID,
    "alerting_firing": By("alert_id", "alerting_alert"),
    "alerting_mail": By("alert_id", "alerting_alert"),
    "backtests_part": By("backtest_id", "turns_backtest"),
    "board_sum": PROJECT_ID,
    "commenting_comment": TURN,
    "conversations_conversation": PROJECT_ID,
    "gateway_alias": PROJECT_ID,
    "gateway_gatewaycall": PROJECT_ID,
    "inbox_notice": PROJECT_ID,
    "ingest_ingested": PROJECT_ID,
    "ingest_piece": PROJECT_ID,
    "ingest_refusal": PROJECT_ID,
    "keeping_origin": TURN,
    "live_callslot": By("connection_id", "agents_connection"),
    "live_ownedturn": TURN,
    "live_signal": TURN,
    "policies_shadow": PROJECT_ID,
    "policies_shadowverdict": By("shadow_id", "policies_shadow"),
    "predictions_calibration": PROJECT_ID,
    "predictions_prediction": PROJECT_ID,
    "sealing_chain": TURN,
    "suggesting_toldsuggestion": PROJECT_ID,
    "telemetry_destination": PROJECT_ID,
    "telemetry_destinationchange": PROJECT_ID,
    "telemetry_queued": By("destination_id", "telemetry_destination"),
    "timeline_bulkaction": PROJECT_ID,
    "timeline_change": PROJECT_ID,
    "timeline_changedminute": PROJECT_ID,
    "timeline_rollup": PROJECT_ID,
    "timeline_savedview": PROJECT_ID,
    "tools_mcpserver": PROJECT_ID,
    "tools_turndocument": TURN,
    "tour_stop": PROJECT_ID,
    "turns_attempt": TURN,
    "turns_attemptchunk": TURN,
    "turns_backtest": PROJECT_ID,
    "turns_checkpoint": TURN,
    "turns_clientrequest": TURN,
    "turns_cohort": PROJECT_ID,
    "turns_loosenode": By("id", NODES),
    NODES: By("id", NODES),
    "turns_outcome": TURN,
    "turns_record": TURN,
    "turns_toolclaim": TURN,
    "turns_turn": PROJECT_ID,
    "turns_turnmessage": TURN,
    "webhooks_delivery": By("webhook_id", "webhooks_webhook"),
    "webhooks_droppedevents": NOTHING,
    "webhooks_happened": TURN,
    "webhooks_try": By("delivery_id", "webhooks_delivery"),
    "webhooks_webhook": PROJECT_ID,
    "webhooks_webhookchange": PROJECT_ID,
}
REFERENCE: Final = frozenset({"accounts_user"})
COORDINATOR: Final = frozenset(
    {
        "accounts_apitoken",
        "accounts_externalidentity",
        "accounts_guesscount",
        "accounts_membership",
        "accounts_membershipchange",
        "accounts_onetimecode",
        "accounts_recoverycode",
        "accounts_secondfactor",
        "accounts_user_groups",
        "accounts_user_user_permissions",
        "agents_project",
        "agents_projectchange",
        "audit_entry",
        "auth_group",
        "auth_group_permissions",
        "auth_permission",
        "django_admin_log",
        "django_content_type",
        "django_migrations",
        "django_session",
        "gateway_gatewaykey",
        "gateway_keypace",
        "gateway_keyspending",
        "idempotency_keptanswer",
        "live_process",
        "pghistory_context",
        "procrastinate_events",
        "procrastinate_jobs",
        "procrastinate_periodic_defers",
        "procrastinate_workers",
        "sealing_auditseal",
        "sealing_knownkey",
        "sealing_seal",
        "sealing_tombstone",
        "sharing_sharelink",
    }
)
#: Foreign keys that are not made there, because they would lead from one node to another; Django keeps what they keep.
#: Those of the project tables to the project itself are left out too: the schema is the project.
LEFT_OUT: Final = frozenset({("gateway_gatewaykey", "default_connection_id"), ("sharing_sharelink", "turn_id")})
#: Integers that a trigger numbers on the node of a project, where Citus numbers from 2^48 times the node's number on,
#: and the columns that refer to them: they are wide in the schema of a project.
WIDENED: Final = frozenset(
    {
        ("agents_agentchange", "pgh_id"),
        ("agents_connectionchange", "pgh_id"),
        ("agents_policyattachmentchange", "pgh_id"),
        ("alerting_alertchange", "pgh_id"),
        ("telemetry_destinationchange", "pgh_id"),
        ("timeline_change", "cohort"),
        ("timeline_rollup", "cohort"),
        ("turns_cohort", "id"),
        ("turns_turn", "cohort"),
        ("webhooks_webhookchange", "pgh_id"),
    }
)
