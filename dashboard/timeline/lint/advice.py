"""What to do about each sign of a cut, in words."""

from collections.abc import Mapping

from agentcore.lint import CODES

ADVICE: Mapping[str, str] = {
    "output_at_cap": "Raise max_tokens, and check any proxy in between: it may report truncation as a normal stop, so "
    "nothing is continued.",
    "unclosed_json": "Set an envelope schema on the agent, so that an answer with incomplete JSON is requested again. "
    "If far fewer tokens were used than max_tokens allows, the server has a smaller limit of its own.",
    "unclosed_fence": "Raise max_tokens, or the server’s own limit if far fewer tokens were used.",
    "unclosed_bracket": "Raise max_tokens; read the end of the answer before you rely on it.",
    "unclosed_sentence": "Raise max_tokens; read the end of the answer before you rely on it.",
    "reasoning_ate_budget": "Raise max_tokens well above the model’s reasoning tokens, or limit its reasoning with an "
    "effort setting or a thinking budget.",
    "relabelled": "A proxy between Whystop and the provider renames this stop reason. If Whystop knows the new name, "
    "the turn was continued all the same. Correct the mapping of the proxy, because other programs rely on it.",
    "ambiguous_seam": "Read the marked passage on the turn’s page. If the connection can continue an assistant message "
    "(prefill), turn this on, so that nothing is repeated.",
}
assert ADVICE.keys() == CODES.keys(), "every code has its advice"
