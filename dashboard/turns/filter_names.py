"""What people call the filters of the timeline: facets, chips and sentences about a filter read these names."""

from collections.abc import Mapping

#: What pages call the filters by words, and the other filters.
LABELS: Mapping[str, str] = {
    "stop_reason": "Agent stop reason",
    "terminal_reason": "Terminal reason",
    "resource": "Limit reached",
    "model_stop_reason": "Model stop reason",
    "status": "Status",
    "error_type": "Error",
    "has": "Has",
    "agent": "Agent",
    "model": "Model",
    "provider": "Provider",
    "lint": "Signs of truncation",
    "tag": "Tag",
}
OTHER_LABELS: Mapping[str, str] = {
    "tokens_from": "Tokens at least",
    "tokens_to": "Tokens at most",
    "duration_from": "Took at least",
    "duration_to": "Took at most",
    "q": "Words",
    "since": "From",
    "until": "To",
    "run": "Run",
    "requested_again": "Requested again",
    "fold": "Runs",
    "sort": "Sort",
}


def filter_named(name: str) -> str:
    """What a page calls a filter, and its key where that is another word: `Took at most (duration_to)`."""
    label = {**LABELS, **OTHER_LABELS}.get(name) or f"Not {LABELS[name.removeprefix('not_')]}"
    return label if label.lower() == name else f"{label} ({name})"


#: The keys that sentences have in brackets behind the name of a filter.
FILTER_KEYS = tuple(
    name for name in (*LABELS, *(f"not_{name}" for name in LABELS), *OTHER_LABELS) if filter_named(name).endswith(")")
)
