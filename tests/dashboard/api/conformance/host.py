"""A host under test and the program that tests it: `manage.py up`, and nothing but HTTP."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

TOKEN = "a-token-of-24-characters-or-more"
_PATIENCE = 60  #: seconds
_UNDER_WAY = {"queued", "running"}


@dataclass(frozen=True, slots=True)
class Played:
    """One turn, and what the simulator received for it."""

    turn: dict[str, Any]
    records: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    received: dict[str, Any]

    @property
    def observed(self) -> list[dict[str, Any]]:
        """What the records carry of the envelope, in order."""
        seen = (one for record in self.records for one in record["observed"])
        return [one for one in seen if one["type"].startswith(("envelope.", "cap."))]

    @property
    def types(self) -> list[str]:
        return [one["type"] for one in self.observed]

    def only(self, kind: str) -> dict[str, Any]:
        (found,) = (one for one in self.observed if one["type"] == kind)
        return found

    def told(self) -> str:
        """All that is said of the turn but what the model itself sent: its events."""
        rows = [{key: part for key, part in record.items() if key != "event"} for record in self.records]
        return json.dumps([self.turn, rows], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Host:
    address: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer. Fails the test for an error."""
        request = urllib.request.Request(
            self.address + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def play(self, dialect: str, name: str, script: dict[str, Any], **agent: Any) -> Played:
        """A turn of a new agent on a new scripted model, played to its end."""
        name = f"{name}-{dialect.replace('_', '-')}"
        made = self.ask("POST", "/api/v1/simulator/scripts", {"name": name, **script})
        base = made["base_urls"][dialect]
        self.ask("POST", "/api/v1/connections", {"name": name, "provider": dialect, "base_url": base})
        agent = {"name": name, "connection": name, "model": made["model"], "max_tokens": 200, **agent}
        self.ask("POST", "/api/v1/agents", agent)
        turn = self.ask("POST", "/api/v1/turns", {"agent": name, "input": "Report, please."})
        deadline = time.monotonic() + _PATIENCE
        while turn["status"] in _UNDER_WAY:
            assert time.monotonic() < deadline, turn
            time.sleep(0.05)
            turn = self.ask("GET", f"/api/v1/turns/{turn['id']}")
        records = self.ask("GET", f"/api/v1/turns/{turn['id']}/records")
        received = self.ask("GET", f"/api/v1/simulator/scripts/{name}/calls")
        return Played(turn, records, received["calls"], received)
