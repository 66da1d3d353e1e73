"""The caller dialects, by address and by name."""

from collections.abc import Mapping

from dashboard.gateway.wire.caller_dialect import CallerDialect
from dashboard.gateway.wire.chat.dialect import CHAT
from dashboard.gateway.wire.gemini.address import BELOW, parse_address
from dashboard.gateway.wire.gemini.dialect import GEMINI, door_for
from dashboard.gateway.wire.messages.dialect import MESSAGES
from dashboard.gateway.wire.responses.dialect import RESPONSES

BY_PATH: Mapping[str, CallerDialect] = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": MESSAGES,
    "/v1/responses": RESPONSES,
}
BY_DIALECT: Mapping[str, CallerDialect] = {door.dialect: door for door in (*BY_PATH.values(), GEMINI)}


def dialect_at(path: str) -> CallerDialect:
    """In whose form an address answers, also one that is not here: that of the door above it, else OpenAI's."""
    asked = parse_address(path)
    if asked is not None:
        return door_for(asked)
    if path.startswith(BELOW):
        return GEMINI
    found = (door for address, door in BY_PATH.items() if f"{path}/".startswith(f"{address}/"))
    return next(found, CHAT)
