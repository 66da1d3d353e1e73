"""The terms of the pages, each with one explanation. The glossary shows all; a page explains one on hover and focus.

A limit has one name for people, one key and one meaning; they come from `agents.limit_fields`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.policy import LIMIT_NAMES, SETTING_NAMES, SPEC_KEYS
from dashboard.agents.limit_fields import FAILURES_MEANING, LIMIT_FIELDS, RETENTION_FIELDS, default_in_words
from dashboard.turns.certainty_text import MEANINGS, SHOWN_BY_RERUN, certainty_word
from dashboard.turns.endings import ENDINGS


@dataclass(frozen=True, slots=True)
class Term:
    """`key` names it in addresses and, of a limit, in code; `spec`: the specification's own key for it."""

    key: str
    name: str
    meaning: str
    code: bool = False
    unit: str = ""
    default: str = ""
    spec: str = ""


#: By key: name and meaning.
_WORDS: Mapping[str, tuple[str, str]] = {
    "turn": (
        "Turn",
        "One request to an agent with all its model calls, tool calls and decisions.",
    ),
    "agent": ("Agent", "A model with a prompt, tools and limits."),
    "connection": ("Connection", "A model server: its address, its dialect and the variable that holds its API key."),
    "run": (
        "Run",
        "Several turns of one task, each with the conversation of the one before it. Re-runs and "
        "forks are branches of the run.",
    ),
    "dialect": ("Dialect", "The API format that a model server or a client uses, such as openai or anthropic."),
    "conversation": (
        "Conversation",
        "Turns with one agent, in order. Each receives the earlier prompts and answers.",
    ),
    "attempt": ("Call", "One call of the model within a turn. The API, files and the database name it an attempt."),
    "truncated": (
        "Truncated",
        "An answer that was cut before its end, usually at Max tokens per call. A turn that ends with one is shown as "
        "cut off.",
    ),
    "truncation_rate": (
        "Truncation rate",
        "The share of ended turns with at least one truncated answer, tool call or envelope, also if it was continued "
        "or requested again. The column Truncated of Agents leaves out what was only requested again.",
    ),
    "cap": ("Cap", "The Max tokens per call that was sent with one call. A longer answer is cut there."),
    "continuation": ("Continuation", "A further call that continues a truncated answer where it was cut."),
    "repair": ("Tool-call repair", "A further call that requests a truncated or malformed tool call again."),
    "envelope": (
        "Envelope",
        "An answer in the JSON form that an agent's answers must have. Other programs call it a structured answer. An "
        "invalid one is requested again.",
    ),
    "iteration": (
        "Step",
        "One iteration of the agent: a model answer and the tools that it calls. Max steps limits their number. The "
        "state machine's moves are transitions, and what is stored of them are records.",
    ),
    "model_stop": ("Model stop reason", "Why the model ended an answer, in one vocabulary for all providers."),
    "provider_stop": ("Provider's stop reason", "The stop reason exactly as the provider reported it."),
    "agent_stop": ("Agent stop reason", "Why the agent ended the turn: completed, or what stopped it before that."),
    "terminal_reason": ("Terminal reason", "Why the turn ended, more precise than the agent stop reason."),
    "status": ("Status", "How a turn ended: completed, partial, failed, aborted, cancelled or interrupted."),
    "partial": ("Partial", "A turn that ended with an incomplete answer, which is kept with a notice."),
    "sufficient_limit": (
        "Sufficient limit",
        "The value of a limit under which the turn would have finished. It is proven by a live re-run, certain by the "
        "recording, or likely.",
    ),
    "verdict": ("Verdict", "One sentence that says why a turn stopped."),
    "notice": ("Notice", "The sentence that goes with an incomplete answer and says why it is incomplete."),
    "override": ("Override", "A setting of one turn. It takes precedence over its agent, its policy and the defaults."),
    "transition": ("Transition", "One move of the state machine from a state to another, with its reason."),
    "record": (
        "Record",
        "One stored entry of a turn: an event, the transitions that followed and the next command.",
    ),
    "criterion": ("Criterion", "A rule that says after each answer whether the turn may, must or must not continue."),
    "guard": ("Guard", "A built-in stop against endless turns, such as two answers that add nothing new."),
    "policy": ("Policy", "A named set of limits and rules. Its versions never change; one of them is active."),
    "draft": ("Draft", "A version of a policy that is not active."),
    "shadow": (
        "Shadow run",
        "A draft evaluated on each turn of its policy after its end, without affecting it.",
    ),
    "backtest": ("Backtest", "A draft evaluated on stored turns: how each would have ended under it."),
    "what_if": ("What-if", "A stored turn evaluated under other limits from its recording, without a provider."),
    "sweep": ("Sweep", "A what-if at each value of one limit, which finds the smallest sufficient one."),
    "rerun": (
        "Re-run",
        "A new turn that sends the request of an earlier turn again, under other limits.",
    ),
    "fork": ("Fork", "A re-run that starts at a record of the earlier turn and keeps what came before."),
    "replay": ("Replay", "The recorded events evaluated again; verified where the result is the recorded one."),
    "held": (
        "Held",
        "A turn that waits for an operator, at a breakpoint or for the approval of a tool call.",
    ),
    "breakpoint": ("Breakpoint", "A condition on which a turn is held before its next step."),
    "overlap": (
        "Overlap",
        "Text of a continuation that repeats the end of the answer so far; it is dropped.",
    ),
    "seam": ("Seam", "The place in an answer at which a continuation is joined to the text before it."),
    "observed": (
        "Observed call",
        "A gateway call in observe mode: recorded and passed on unchanged. No limit of a policy applies to it.",
    ),
    "ledger": (
        "Limits that stopped turns",
        "The list of limits and rules that stopped turns, with who set each, when, and what it cost.",
    ),
    "seal": ("Seal", "A signed list of turns that have ended. Later changes to these turns are detected by it."),
    "alias": ("Alias", "Another name under which gateway callers reach an agent or a model."),
    "prediction": (
        "Prediction",
        "The stored result of a what-if or a suggested limit, which is compared with the live re-run under it.",
    ),
    "project": ("Project", "A part of an installation with members, agents, keys and turns of its own."),
    "sign": (
        "Sign of truncation",
        "Evidence in token counts or text that an answer was cut, whatever its stop reason.",
    ),
    "overhead": ("Overhead", "The time of a gateway call that the gateway itself took."),
}
_SPEC = {ours: key for key, ours in SPEC_KEYS.items()}
#: Names of limits that are no field of a policy.
_OTHER_LIMITS: Mapping[str, str] = {
    "max_tokens": "The most output tokens that one model call may use.",
    "max_retries": FAILURES_MEANING,
    "max_output_tokens": "The most output tokens that one call on the connection may request.",
    "approvals.seconds": "How long a turn waits for a person to approve tool calls. The agent has it, not a policy.",
}

_DECISIONS = "Stop ends the turn, retry calls again up to Max failures in a row, and ignore goes on without the result."
_NAMES: Mapping[str, str] = {
    "recovery": "Local recovery",
    "finish_reasons": "Final stop reasons",
    "criteria": "Custom criteria",
}
_SETTINGS: Mapping[str, str] = {
    "on_tool_error": f"What follows if a tool fails or its arguments are wrong. {_DECISIONS}",
    "on_model_error": f"What follows if the provider fails or refuses the request. {_DECISIONS}",
    "on_validation_error": f"What follows if a response is not in the provider's format. {_DECISIONS}",
    "on_rate_limit_error": f"What follows if the provider limits the rate of requests (429). {_DECISIONS}",
    "on_timeout_error": f"What follows if a call takes too long. {_DECISIONS}",
    "on_unknown_error": f"What follows after an error of no other type. {_DECISIONS}",
    "tool_calls_on_truncation": "What happens to complete tool calls in a truncated answer. execute_if_complete runs "
    "them if all are complete and valid; repair requests them again. An incomplete call is never run.",
    "recovery": "How an envelope is read from an answer that is not only JSON, without another call: markdown-fence "
    "takes the JSON in a fenced block, brace-walker the first complete object in prose, and jsonrepair repairs "
    "malformed JSON, but never a truncated answer.",
    "finish_reasons": "Model stop reasons after which the answer is never continued.",
    "criteria": "Rules of your own, evaluated after each answer beside the built-in criteria.",
}


def _in_the_api(name: str, value: str) -> str:
    return "" if name == value else f" The API calls it {value}."


TERMS: Mapping[str, Term] = {key: Term(key, name, meaning) for key, (name, meaning) in _WORDS.items()}
LIMITS: Mapping[str, Term] = {
    **{
        key: Term(key, field.label, field.meaning, True, field.unit, default_in_words(key), _SPEC.get(key, ""))
        for key, field in {**LIMIT_FIELDS, **RETENTION_FIELDS}.items()
    },
    **{key: Term(key, LIMIT_NAMES[key], meaning, True) for key, meaning in _OTHER_LIMITS.items()},
}
#: Settings of a policy that are no numbers, by the last part of their field.
SETTINGS: Mapping[str, Term] = {
    key: Term(key, SETTING_NAMES.get(key) or _NAMES[key], meaning, True) for key, meaning in _SETTINGS.items()
}
CERTAINTIES: Mapping[str, Term] = {
    str(word): Term(str(word), (name := certainty_word(word)).capitalize(), f"{meaning}{_in_the_api(name, word)}")
    for word, meaning in MEANINGS.items()
} | {word: Term(word, word.capitalize(), meaning) for word, meaning in SHOWN_BY_RERUN.items()}
READINGS: Mapping[str, Term] = {
    each.key: Term(each.key, each.name, f"{each.meaning} Status: {each.status}.") for each in ENDINGS
}
ALL: Mapping[str, Term] = {**TERMS, **LIMITS, **SETTINGS, **CERTAINTIES, **READINGS}


#: Terms by the names that filters and columns have for them.
_COLUMNS: Mapping[str, str] = {"stop_reason": "agent_stop", "model_stop_reason": "model_stop", "lint": "sign"}


def term_of(key: str) -> Term | None:
    """The term of a key; a field of a policy (`limits.max_steps`) is its limit, and a column the term that it holds.
    None: no such term."""
    return ALL.get(key) or ALL.get(_COLUMNS.get(key, key.rpartition(".")[2]))
