"""JSON repair for the core: what is nearly JSON is made JSON where a policy allows it (`envelope.recovery`)."""

import json_repair

MAX_REPAIRED = 100_000  #: characters; the repairer's time may grow with the square of the text


def repaired(text: str) -> str:
    """The text as JSON; empty where there is nothing to repair, or too much."""
    if len(text) > MAX_REPAIRED:
        return ""
    try:
        # The core reads the result strictly; no second reading here.
        return str(json_repair.repair_json(text, skip_json_loads=True, ensure_ascii=False))
    except Exception:
        # Whatever it stumbles over in what a model said: nothing was repaired, and the answer is judged as it is.
        return ""
