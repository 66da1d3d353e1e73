"""How pages call the types of errors."""

from agentcore.errors import ErrorType

_WORDS: dict[str, str] = {ErrorType.TOOL: "tool failed or refused"}
TOOL_MEANS = "`tool`: a tool failed, or a person refused its call."


def error_words(error_type: str) -> str:
    """`rate limit`, the type of an error as a page says it. A refused call counts as a tool error."""
    return _WORDS.get(error_type, error_type.replace("_", " "))
