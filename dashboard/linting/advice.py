"""What to do about each sign of a cut, in words."""

from collections.abc import Mapping

from agentcore.lint import CODES

ADVICE: Mapping[str, str] = {
    "output_at_cap": "Raise max_tokens, and check any proxy in between: it may report truncation as a normal stop, so "
    "nothing is continued.",
    "unclosed_json": "Set an envelope schema on the agent: then an answer that is no whole JSON is asked for again. "
    "Where far fewer tokens were used than max_tokens allows, the server has a smaller limit of its own.",
    "unclosed_fence": "Raise max_tokens, or the server’s own limit where far fewer tokens were used.",
    "unclosed_bracket": "Raise max_tokens; read the end of the answer before you rely on it.",
    "unclosed_sentence": "Raise max_tokens; read the end of the answer before you rely on it.",
    "reasoning_ate_budget": "Raise max_tokens well above what the model reasons, or bound its reasoning, by an "
    "effort or a thinking budget.",
    "relabelled": "The bridge renames max_tokens. Where the word is known to us the turn was continued all the same; "
    "mend the bridge’s mapping, for other programs believe it.",
    "ambiguous_seam": "Read the marked passage on the turn’s page. Where the connection can continue an assistant "
    "message (prefill), turn that on: then nothing is repeated.",
}
assert ADVICE.keys() == CODES.keys(), "every code has its advice"
