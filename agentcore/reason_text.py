"""What readers see in place of reasons whose stored words read badly. A history keeps the words it was judged with, for
it is verified by them; pages and verdicts show these."""

import re
from collections.abc import Mapping

#: Reasons as they are stored, and as they are shown.
_WHOLE: Mapping[str, str] = {
    "no continuation is being judged": "no truncated answer to continue at this step",
    "no envelope is being judged": "no structured answer to check at this step",
    "no answer to look at": "no answer to check at this step",
    "no reason is not a final reason": "no stop reason to check at this step",
    "nothing asks to go on": "nothing requests another call",
    "a criterion forbade going on": "a criterion forbade continuing",
    "a clean stop and valid": "it ended by itself and is valid",
    "what cannot be judged is not asked for again": "an answer that cannot be checked is not requested again",
    "ignored by policy; there is no answer to go on with": "ignored by the error policy; there is no answer to return",
}
#: The same of parts of a reason or a notice.
_PARTS: tuple[tuple[str, str], ...] = (
    (r"\bthe provider said no stop reason\b", "the provider gave no stop reason"),
    (r"\b0 of 0 continuations used", "max_continuations is 0"),
    (r"\b0 of 0 repairs used", "max_tool_repair_attempts is 0"),
    (r"\b0 of 0 envelope retries used", "schema_rounds is 0"),
    (r"\b(\d+) cut answers running\b", r"\1 truncated answers in a row"),
    (r"\bin (\d+) answers running\b", r"in \1 answers in a row"),
    (r"\ba call that is only watched is not asked again\b", "an observed call is not requested again"),
    (r"\ba call that is only watched is not continued\b", "an observed call is not continued"),
    (r"\b(\d+) of (\d+) iterations\b", r"\1 of \2 steps"),
    (r"^iteration (\d+) of (\d+)$", r"step \1 of \2"),
    (r"; who asked runs them$", "; the caller runs them"),
    (r"\bretrying cannot heal this error\b", "the same request would fail again"),
    (r"^This turn was interrupted and cannot go on: ", "This turn was interrupted and cannot continue: "),
    (r" What had been said is kept\.$", " The partial answer is kept."),
)
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern, _ in _PARTS))
_COMPILED = tuple((re.compile(pattern), words) for pattern, words in _PARTS)

#: Counts in sentences of Whystop, not in those of a provider, which are quoted as they came.
_UNGROUPED = re.compile(
    r"(?<![\w.,:/-])\d{4,15}(?= of \d+ | tokens in and out\b)"
    r"|(?<=\d of )\d{4,15}(?= (?:completion )?tokens\b| characters\b)"
)

#: What stands in a reason for the cap of a next call.
_CAP = re.compile(r"^((?:continuation|repair) \d+ of \d+), \d+ tokens$")


def without_cap(reason: str) -> str:
    """A stored reason of a call for which nobody set a cap, without the number that Whystop calculates with."""
    return _CAP.sub(r"\1, no max_tokens set", reason)


def in_plain_words(reason: str) -> str:
    """A stored reason or notice as it is shown; one that reads well stays as it is."""
    if (whole := _WHOLE.get(reason)) is not None:
        return whole
    reason = _UNGROUPED.sub(lambda found: f"{int(found[0]):,}", reason)
    if _ANY.search(reason) is None:
        return reason
    for pattern, words in _COMPILED:
        reason = pattern.sub(words, reason)
    return reason
