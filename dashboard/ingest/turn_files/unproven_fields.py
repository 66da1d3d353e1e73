"""What of a turn file no other part of it, and no replay, can bear out: it is as the file says.

By the path of a value in `turn`, `*` for any place in a list and any name. A test changes the values of real files, one
at a time: each change is refused, doubted or told, or stands here with its reason. Beside these, what came from outside
is the file's own word wherever all places that hold it are changed together: the prompt, results of tools, acts of
operators, bytes and times.
"""

from collections.abc import Mapping

_DECIDED_NOTHING = "a number that decided nothing in this turn changes no decision"
_NO_BYTES = "where the bytes are not stored; then the import tells that the answer was not compared"

TOLD: Mapping[str, str] = {
    "agent": "a name that means something only where the file was made",
    "overrides": "its limits are compared with the policy; other keys tell where a re-run came from",
    "policy.*": _DECIDED_NOTHING,
    "setup.by": "the name of who made a fork",
    "forked_at": "a place in the history of a fork's parent, which is another file",
    "base_snapshot.*": "the state that a fork goes on from, as its parent's history has it; what follows is compared",
    "attempts.*.request_url": "a host, which only the installation that called knows; the path below it is compared",
    "attempts.*.status_code": "one success is as good as another",
    "attempts.*.content_type": "a header of the provider's, which no byte of the answer repeats",
    "attempts.*.response_headers.*": "headers of the provider's, which no byte of the answer repeats",
    "attempts.*.duration_ms": "measured by one clock, and no longer than the turn but for an hour",
    "attempts.*.first_token_ms": "measured by one clock, and no longer than the call",
    "attempts.*.chunks.*.raw": "bytes that say nothing of the answer, such as what follows its closing event",
    "records.*.core_version": "a version; what another one wrote is compared less closely, and the import tells so",
    "records.*.event.draw": "chance; it decides how long a retry waits, which is compared",
    "records.*.event.results.*.name": "the name beside a tool's result, which goes by the id of its call",
    "records.*.event.response.model": _NO_BYTES,
    "records.*.event.response.response_id": _NO_BYTES,
    "records.*.event.response.provider": _NO_BYTES,
    "records.*.event.response.incomplete_stream": _NO_BYTES,
    "records.*.event.response.reason_trail.*": _NO_BYTES,
}
