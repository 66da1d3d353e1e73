"""Real instrumentations around real calls to the simulator of a running product, and what became of their spans.

`python .ci/instrumentations/run.py [name …]`. Each client lives in an environment of its own. Spans go through a
collector, which keeps them and hands every request on as it came; at the end all of them come again under other ids,
in any order and one by one, and have to become the same turns. Ends with 1 if any case differs from `EXPECTED`.
"""

import json
import os
import random
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "clients")]
import run as clients  # noqa: E402

#: The environment of each instrumentation.
ENVIRONMENTS = {
    "otel-openai": "openai",
    "openinference-openai": "openai",
    "openinference-responses": "openai",
    "openllmetry-openai": "openai",
    "openinference-agents": "openai",
    "openllmetry-agents": "openai",
    "openinference-anthropic": "anthropic",
    "openllmetry-anthropic": "anthropic",
    "logfire-anthropic": "anthropic",
    "logfire-openai": "anthropic",
    "openinference-langchain": "langchain",
    "openllmetry-langchain": "langchain",
    "logfire-pydantic_ai": "pydantic",
    "openinference-litellm": "litellm",
    "own-haystack": "haystack",
    "otel-google": "google",
    "openinference-google": "google",
}


class Became(NamedTuple):
    """A turn: its status, the reason of its last answer, and how many calls it holds."""

    status: str
    reason: str
    attempts: int = 1


EXPECTED = {
    "ok": Became("completed", "end_turn"),
    "trunc": Became("partial", "max_tokens"),
    "cuttool": Became("partial", "max_tokens"),
    "refusal": Became("aborted", "safety_blocked"),
    "error": Became("failed", "unknown"),
    "agent": Became("completed", "end_turn", 2),
}
UNKNOWN = Became("completed", "unknown")
MALFORMED = Became("partial", "tool_call")
#: What an instrumentation does not send cannot be known.
OTHERWISE: dict[tuple[str, str], list[Became]] = {
    # A streamed response's span holds neither the answer nor a reason.
    ("openinference-responses", "trunc-stream"): [UNKNOWN],
    ("openinference-responses", "cuttool-stream"): [UNKNOWN],
    # Gemini says of a call that was cut that it is malformed.
    **{
        (name, case): [MALFORMED]
        for name in ("otel-google", "openinference-google")
        for case in ("cuttool", "cuttool-stream")
    },
    # No span of the agents' SDK holds a reason; it runs the cut call, and asks again.
    ("openinference-agents", "ok"): [UNKNOWN],
    ("openinference-agents", "trunc"): [UNKNOWN],
    ("openinference-agents", "refusal"): [Became("partial", "unknown")],
    ("openinference-agents", "cuttool"): [Became("partial", "unknown"), UNKNOWN],
}
TRACED = "traced "  #: how `traced.py` begins a line that names a case and its trace
SECONDS = 240  #: for all cases of one instrumentation


class Collector(BaseHTTPRequestHandler):
    """Hands requests on as they come, and keeps what they held."""

    onward: ClassVar[str]
    kept: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            self.kept.append(body)
        headers = {name: value for name, value in self.headers.items() if name.casefold() not in {"host", "connection"}}
        with urllib.request.urlopen(
            urllib.request.Request(self.onward + self.path, body, headers), timeout=30
        ) as answer:
            told = answer.read()
            self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def collector(onward: str) -> Iterator[str]:
    Collector.onward = onward
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def turns(address: str) -> list[dict[str, Any]]:
    """Every turn that traces told of, by pages."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        asked = f"{address}/api/v1/turns?limit=100{after}"
        headers = {"Authorization": f"Bearer {clients.TOKEN}"}
        with urllib.request.urlopen(urllib.request.Request(asked, headers=headers), timeout=30) as answer:
            page = json.load(answer)
        found += [turn for turn in page["items"] if turn["ingested"]]
        if page["next"] is None:
            return found
        after = f"&cursor={page['next']}"


def became(address: str) -> dict[str, list[Became]]:
    """What each trace is by now, its turns in order of time."""
    found: dict[str, list[Became]] = {}
    for turn in sorted(turns(address), key=lambda turn: turn["started_at"]):
        told = Became(turn["status"], turn["model_stop_reason"] or "unknown", turn["attempts"])
        found.setdefault(turn["ingested"]["trace_id"], []).append(told)
    return found


def traced(name: str, python: Path, exported: str, simulator: str, secret: str) -> Iterator[tuple[str, str]]:
    """Has all cases called, and their spans sent: each case with its trace."""
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": f"{simulator}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": simulator,
        "ANTHROPIC_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": simulator,
        "GEMINI_API_KEY": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": exported,
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{secret}",
        "OTEL_SERVICE_NAME": name,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        "TRACELOOP_TRACE_CONTENT": "true",
        "TRACELOOP_TELEMETRY": "false",
        "HAYSTACK_CONTENT_TRACING_ENABLED": "true",
        "HAYSTACK_TELEMETRY_ENABLED": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # nothing is fetched
        "LANGSMITH_TRACING": "false",
    }
    command = [python, HERE / "traced.py", name]
    done = subprocess.run(command, env=environment, timeout=SECONDS, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        if line.startswith(TRACED):  # clients write there too
            case, trace = line.removeprefix(TRACED).split()
            yield case, trace


def turned(trace: str) -> str:
    """Another trace's id, made of this one's."""
    return bytes(255 - byte for byte in bytes.fromhex(trace)).hex()


def shuffled(bodies: list[bytes], seed: int) -> Iterator[bytes]:
    """Every span as a request of its own, in another order, in traces of other ids."""
    single = []
    for body in bodies:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    span.trace_id = bytes.fromhex(turned(span.trace_id.hex()))
                    request = ExportTraceServiceRequest()
                    alone = request.resource_spans.add(resource=resource.resource).scope_spans.add(scope=scope.scope)
                    alone.spans.append(span)
                    single.append(request.SerializeToString())
    random.Random(seed).shuffle(single)
    yield from single


def send(address: str, body: bytes, secret: str) -> None:
    headers = {"Content-Type": "application/x-protobuf", "Authorization": f"Bearer {secret}"}
    urllib.request.urlopen(urllib.request.Request(f"{address}/v1/traces", body, headers), timeout=30).close()


def told(what: str, found: list[Became] | None, expected: list[Became] | None) -> bool:
    """Says how a case went: whether it is as expected."""
    good = found == expected
    sys.stdout.write(f"  {what}\n" if good else f"  FAILED {what}: {found}, not {expected}\n")
    sys.stdout.flush()
    return good


def main(names: tuple[str, ...]) -> None:
    homes = {ENVIRONMENTS[name] for name in names}
    with ThreadPoolExecutor(len(homes)) as pool:
        pythons = dict(zip(homes, pool.map(lambda home: clients.environment_of(home, HERE), homes), strict=True))
    good, cases = True, dict[str, str]()
    with clients.gateway() as address, collector(address) as exported:
        secret, simulator = clients.key(address, "traces", scope=["otlp"]), clients.simulator(address)
        for name in names:
            traces = dict(traced(name, pythons[ENVIRONMENTS[name]], exported, simulator, secret))
            first = became(address)
            for case, trace in traces.items():
                cases[trace] = f"{name} {case}"
                expected = OTHERWISE.get((name, case), [EXPECTED[case.removesuffix("-stream")]])
                good &= told(cases[trace], first.get(trace), expected)
        for body in shuffled(Collector.kept, seed=22):
            send(address, body, secret)
        again = became(address)
        for trace, what in cases.items():
            good &= told(f"{what}, shuffled", again.get(turned(trace)), first.get(trace))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or tuple(ENVIRONMENTS))
