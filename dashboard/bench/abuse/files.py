"""Few bytes that become many: files to import, answers of a provider, names of models; and texts dear to index."""

import io
import zipfile
from dataclasses import replace
from itertools import cycle

from dashboard.bench.abuse.attack_requests import PATIENCE, Request, Target, send_all
from dashboard.bench.abuse.provider import TEXTS

NAMES = 800
NAMING = 8  #: callers
ZIPPED_FILES, ZIPPED_VALUES = 3, 15_000_000
JSON_BYTES = 45_000_000
NESTED = 200_000
MOST_METRICS = 200_000  #: bytes that `/metrics` may have after all names
_BOUNDARY = "a-boundary-of-the-bench"


def texts(target: Target) -> None:
    """Texts of 80 kB whose words Postgres takes long to find, as questions and as answers."""

    def request(number: int) -> Request:
        which = number // 2 % len(TEXTS)
        return target.chat("bench/calm", TEXTS[which]) if number % 2 else target.chat(f"bench/said-{which}")

    send_all(target, request)


def imports(target: Target) -> None:
    """A ZIP of 0.1 MB that unpacks to 135, and JSON of 45 MB whose values take thirty times that."""
    values = b"[]," * (JSON_BYTES // 3)
    bombs = cycle([
        Request("/import", _form(_zip()), f"multipart/form-data; boundary={_BOUNDARY}", target.token),
        Request("/api/v1/turns/import", b'{"turn":[' + values[:-1] + b"]}", token=target.token),
        Request("/api/v1/turns/import", b"[" * NESTED, token=target.token),
    ])  # fmt: skip
    send_all(target, lambda _: next(bombs))


def answers(target: Target) -> None:
    """A provider's answer of 0.6 MB that unpacks to 600."""
    send_all(target, lambda _: target.chat("bench/bomb"))


def names(target: Target) -> None:
    """Models that nobody knows, each a label of the metrics."""
    patient = replace(target, until=target.until + PATIENCE)
    send_all(patient, lambda n: target.chat(f"bench/invented-{n}") if n < NAMES else None, at_once=NAMING)
    size = len(target.ask(Request("/metrics", token=target.token))[1])
    target.answers[f"/metrics {size / 1000:,.0f} kB"] = 1
    if size > MOST_METRICS:
        target.missed.append(f"/metrics has {size:,} bytes; the aim is {MOST_METRICS:,}")


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for number in range(ZIPPED_FILES):
            bundle.writestr(f"{number}.json", b"[" + b"[]," * ZIPPED_VALUES)
    return packed.getvalue()


def _form(file: bytes) -> bytes:
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="turns.zip"\r\n\r\n'
    return head.encode() + file + f"\r\n--{_BOUNDARY}--\r\n".encode()
