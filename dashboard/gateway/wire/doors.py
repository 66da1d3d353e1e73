"""The doors of the gateway, by the address at which each is, and by the dialect that is spoken there."""

from collections.abc import Mapping

from dashboard.gateway.wire.chat.door import CHAT
from dashboard.gateway.wire.door import Door
from dashboard.gateway.wire.gemini.address import BELOW, called
from dashboard.gateway.wire.gemini.door import GEMINI, door_for
from dashboard.gateway.wire.messages.door import MESSAGES
from dashboard.gateway.wire.responses.door import RESPONSES

BY_PATH: Mapping[str, Door] = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": MESSAGES,
    "/v1/responses": RESPONSES,
}
BY_DIALECT: Mapping[str, Door] = {door.dialect: door for door in (*BY_PATH.values(), GEMINI)}


def door_at(path: str) -> Door:
    """In whose form an address answers, also one that is not here: that of the door above it, else OpenAI's."""
    asked = called(path)
    if asked is not None:
        return door_for(asked)
    if path.startswith(BELOW):
        return GEMINI
    found = (door for address, door in BY_PATH.items() if f"{path}/".startswith(f"{address}/"))
    return next(found, CHAT)
