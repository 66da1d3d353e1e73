"""The response where the gateway itself fails."""

from dashboard.agents.schema_validation.judge_overload import RETRY_SECONDS
from dashboard.gateway.serving.response_writer import ResponseWriter
from dashboard.gateway.wire.faults import Fault

UNSTORED = Fault(
    503,
    "The database does not answer, so this call could not be recorded, and unrecorded answers are not returned.",
    "server_error",
    "not_recorded",
)
UNSTORABLE = Fault(
    503,
    "The database refused the record of this call, and would refuse it again; unrecorded answers are not returned.",
    "server_error",
    "not_recordable",
    headers=(("x-should-retry", "false"),),
)
BUSY = Fault(
    503,
    "The processes that check JSON Schemas are busy. Try again in a moment.",
    "server_error",
    "schema_checks_busy",
    headers=(("retry-after", str(RETRY_SECONDS)),),
)
BROKEN = Fault(500, "An internal error occurred. The gateway log has the details.", "server_error", "gateway_failed")
STOPPING = Fault(
    503, "The gateway is stopping; try again soon.", "server_error", "gateway_stops", headers=(("retry-after", "2"),)
)
KEY_ENDED = Fault(
    401,
    "The key or token of this call stopped being valid while the call was running, so the call was ended.",
    "invalid_request_error",
    "invalid_api_key",
)


async def send_failure(outgoing: ResponseWriter, fault: Fault) -> None:
    """What a client hears where the gateway itself cannot go on."""
    if not outgoing.begun:
        await outgoing.fault(fault)
    elif not outgoing.ended:
        await outgoing.more(b"\n\n" + outgoing.fault_event(fault))
        await outgoing.close()
