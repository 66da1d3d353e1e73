"""The clients people have, unmodified, against a gateway of its own: `python .ci/clients/run.py [name …]`.

`… run.py environments` only makes the environments, also that of the provider of `.ci/sign_in`.

Each client lives in a virtual environment of its own, for their pins disagree with ours and with each other. The
gateway is `manage.py up` with an empty data folder, in front of the simulator. Ends with 1 if any check failed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
CLIENTS = ("openai", "responses", "agents", "anthropic", "gemini", "langchain", "litellm")
SHARED = {"responses": "openai"}  #: checks of a client that has an environment already
TOKEN = "a-token-of-24-characters-or-more"
SECONDS = 150  #: for one client's checks

sys.path[:0] = [str(CHECKOUT)]
import asked  # noqa: E402


def environment_of(name: str, folder: Path = HERE) -> Path:
    """The python of a client's own environment, made if it is not there as the folder's requirements want it."""
    home, wanted = CHECKOUT / ".venv" / folder.name / name, folder / f"requirements-{name}.txt"
    installed = home / "installed.txt"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        shutil.rmtree(home, ignore_errors=True)
        # Our pip installs into it: to give each environment a pip of its own takes four seconds of a processor.
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
        pip = [sys.executable, "-m", "pip", "--python", home / "bin/python"]
        install = ["install", "-q", "--no-compile", "--require-hashes", "-r", wanted]
        subprocess.run([*pip, *install], check=True)
        shutil.copy(wanted, installed)
    return home / "bin/python"


@contextmanager
def gateway(**more: str) -> Iterator[str]:
    """Its address, while it serves. `more`: variables of its environment."""
    folder = Path(tempfile.mkdtemp(prefix="why-clients-"))
    folder.chmod(0o755)  # the database's user must reach what is below
    ours = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    settings = {
        "WHYSTOP_DATA_DIR": str(folder / "store"),
        "WHYSTOP_PORT": "0",
        "WHYSTOP_SIMULATOR_PORT": "0",
        "WHYSTOP_SIM_TOKEN_MS": "0",
        "WHYSTOP_BOOTSTRAP_TOKEN": TOKEN,
        "WHYSTOP_TEST_SEAM": "1",
    }
    command = [sys.executable, "manage.py", "up"]
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env={**kept, **settings, **more}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found is None:
            raise SystemExit(f"manage.py up did not start: {line!r}")
        yield found[0]
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


def made(address: str, what: str, **body: Any) -> dict[str, Any]:
    """Makes one thing through the API, and what it answers."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/api/v1/{what}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def simulator(address: str) -> str:
    """Where the simulator speaks Anthropic's and Google's dialects: at the root of its address."""
    request = urllib.request.Request(
        f"{address}/api/v1/connections/simulator", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["base_url"].removesuffix("/v1")


def key(address: str, name: str, **more: Any) -> str:
    """A new key's secret."""
    return made(address, "keys", name=name, **more)["secret"]


def prepare(address: str) -> None:
    """The agents that `asked` names."""
    patient = {"max_continuations": 20, "max_total_completion_tokens": 10_000, "schema_rounds": 5}
    made(address, "policies", name="patient", limits=patient)
    refusal = {"status": 429, "code": "rate_limit_exceeded", "retry_after": asked.WAIT}
    made(address, "simulator/scripts", name="limited", answers=[{"error": refusal}])
    for name, provider in (("claude", "anthropic"), ("google", "gemini")):
        made(address, "connections", name=name, provider=provider, base_url=simulator(address))
    for name, model, mode in (
        (asked.CONTINUED, "sim-essay", "continue"),
        (asked.OBSERVED, "sim-essay", "observe"),
        (asked.CALLING, "sim-tools", "continue"),
        (asked.REPORTING, "sim-json", "continue"),
        (asked.OBSERVED_REPORT, "sim-json", "observe"),
        (asked.LIMITED, "script-limited", "continue"),
    ):
        agent = {"name": name, "connection": "simulator", "model": model, "max_tokens": 4_000}
        made(address, "agents", **agent, policy="patient", gateway_mode=mode)
    items = f"{simulator(address)}/v1"
    made(address, "connections", name="items", provider="openai_responses", base_url=items)
    for name, connection, mode in (
        (asked.CLAUDE, "claude", "continue"),
        (asked.WATCHED_CLAUDE, "claude", "observe"),
        (asked.GEMINI, "google", "continue"),
        (asked.WATCHED_GEMINI, "google", "observe"),
        (asked.ITEMS, "items", "continue"),
        (asked.WATCHED_ITEMS, "items", "observe"),
    ):
        agent = {"name": name, "connection": connection, "model": "sim-essay", "max_tokens": 4_000}
        made(address, "agents", **agent, policy="patient", gateway_mode=mode)


def checked(name: str, python: Path, address: str) -> bool:
    """Whether all checks of a client passed; they say how."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_KEY": key(address, name),
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": key(address, f"{name}, at Anthropic's door"),
        "GOOGLE_GEMINI_BASE_URL": address,
        "GEMINI_API_KEY": key(address, f"{name}, at Google's door"),
        "OBSERVING_KEY": key(address, f"{name}, watched", mode="observe"),
        "PACED_KEY": key(address, f"{name}, slowly", limits={"requests_per_minute": 1}),
        "NARROW_KEY": key(address, f"{name}, one agent", scope=[asked.CONTINUED]),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # nothing is fetched
        "LANGSMITH_TRACING": "false",
    }
    program = [python, HERE / f"with_{name}.py"]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    ran = subprocess.run(program, env=environment, timeout=SECONDS, text=True, check=False, **both)
    sys.stdout.write(f"{name}:\n{ran.stdout}")
    sys.stdout.flush()
    return ran.returncode == 0


def environments(names: tuple[str, ...]) -> dict[str, Path]:
    """The python of each of these clients that has an environment of its own."""
    homes = {SHARED.get(name, name) for name in names}
    with ThreadPoolExecutor(len(homes)) as pool:
        return dict(zip(homes, pool.map(environment_of, homes), strict=True))


def main(names: tuple[str, ...]) -> None:
    pythons = environments(names)
    with gateway() as address:
        prepare(address)
        # Two at a time: to import a client takes longer than its checks.
        with ThreadPoolExecutor(2) as pool:
            passed = pool.map(lambda name: checked(name, pythons[SHARED.get(name, name)], address), names)
            failed = [name for name, all_passed in zip(names, passed, strict=True) if not all_passed]
    if failed:
        raise SystemExit(f"Clients that do not get along with the gateway: {', '.join(failed)}.")


if __name__ == "__main__":
    if sys.argv[1:] == ["environments"]:
        environments(CLIENTS)
        environment_of("provider", HERE.parent / "sign_in")
    else:
        main(tuple(sys.argv[1:]) or CLIENTS)
