"""Azure's content filters (providers.md §1.5): what they say beside the choices and at each of them."""

from agentcore.providers.wire.untrusted_json import mapping, sequence


def was_filtered(results: object) -> bool:
    """Whether filter results (of the answer: one object; of the prompt: a list of them) say that text was blocked.

    `filtered` is set only where a filter blocks; one that merely annotates says `detected`.
    """
    found = [mapping(results), *(mapping(mapping(entry).get("content_filter_results")) for entry in sequence(results))]
    return any(mapping(verdict).get("filtered") is True for verdicts in found for verdict in verdicts.values())
