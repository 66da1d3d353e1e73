"""One attack after another on the same installation; a line for each, and the aims it missed."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dashboard.bench.abuse import connections, files, replays, schemas, traces, websockets
from dashboard.bench.abuse.attack_requests import Target
from dashboard.bench.abuse.bystander import PER_SECOND, Heard, bystander
from dashboard.bench.abuse.installation import Installation, Peak, installed
from dashboard.bench.gateway.bench_process import part
from dashboard.runtime.file_limits import raise_limit

SECONDS = 8.0  #: after which an attack begins nothing more
AFTERWARDS = 1.0  #: in which the other key still calls
AIM_P99 = 250.0  #: milliseconds
AIM_MEMORY = 1_500_000_000  #: bytes, of all processes but the database's
NAME, ANSWERS = 28, 44  #: columns

Say = Callable[[str], object]


def _rest(target: Target) -> None:
    """No attack, for comparison."""
    time.sleep(max(0.0, target.until - time.monotonic()))


ATTACKS: Mapping[str, Callable[[Target], None]] = {
    "nothing": _rest,
    "schemas in response_format": schemas.formats,
    "schemas of agents": schemas.envelopes,
    "schemas of tools": schemas.tools,
    "texts of 80 kB": files.texts,
    "1,100 half-sent requests": connections.half_sent,
    "1,100 half-sent bodies": connections.half_bodies,
    "bodies of 12 GB": connections.bodies,
    "headers without end": connections.headers,
    "1,681 health checks": connections.checks,
    "pipelined sign-in pages": connections.pipelined,
    "websocket handshakes": websockets.handshakes,
    "1,100 half-sent handshakes": websockets.unfinished,
    "websockets, all different": websockets.subjects,
    "websocket frames": websockets.frames,
    "half-sent websocket frames": websockets.halves,
    "imports that unpack": files.imports,
    "answers that unpack": files.answers,
    "800 invented models": files.names,
    "traces of one span each": traces.exports,
    "one sweep after another": replays.sweep,
    "parallel sweeps": replays.many,
    "sweeps hung up on": replays.hang_ups,
}


REPLAYS = {replays.sweep, replays.many, replays.hang_ups}  #: of a long turn


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attack came to."""

    attack: str
    answers: Mapping[str, int]
    heard: Heard
    peak: int  #: bytes
    restarted: bool
    uptime: float  #: seconds
    own: Sequence[str]  #: aims of its own that it missed

    def missed(self) -> Iterator[str]:
        """Each aim that was missed, in words."""
        if self.heard.failed or not self.heard.calls:
            yield f"{self.heard.failed} calls of the other key failed; the aim is none ({self.heard.why})"
        if self.heard.share(0.99) > AIM_P99:
            yield f"p99 is {self.heard.share(0.99):,.0f} ms; the aim is {AIM_P99:,.0f} ms"
        if self.peak > AIM_MEMORY:
            yield f"memory reached {self.peak / 1e6:,.0f} MB; the aim is {AIM_MEMORY / 1e6:,.0f} MB"
        if self.restarted:
            yield "a process of the server or its database ended; the aim is none"
        yield from self.own

    def line(self) -> str:
        told = ", ".join(f"{many:,} × {answer}" for answer, many in sorted(self.answers.items())) or "-"
        figures = f"{self.heard.calls:>7,}{self.heard.failed:>8,}{self.heard.share(0.5):>9,.0f} ms"
        figures += f"{self.heard.share(0.99):>9,.0f} ms{self.peak / 1e6:>9,.0f} MB"
        stood = f"{'a restart' if self.restarted else 'up'} {self.uptime:,.0f} s"
        met = "missed" if any(self.missed()) else "met"
        return f"{self.attack:<{NAME}}{told:<{ANSWERS}}{figures}{stood:>12}  {met}"


def abuse(*, only: Sequence[str], say: Say) -> bool:
    """Carry out the attacks whose names hold one of `only` (all, where it is empty); whether every aim was met."""
    raise_limit()
    chosen = [name for name in ATTACKS if not only or any(word in name for word in only)]
    say(f"The other key calls {PER_SECOND} times a second. Aims: no call fails, p99 {AIM_P99:,.0f} ms, memory of all "
        f"processes but the database's {AIM_MEMORY / 1e6:,.0f} MB, no restart.")  # fmt: skip
    say(f"{'attack':<{NAME}}{'its requests, by answer':<{ANSWERS}}{'calls':>7}{'failed':>8}{'p50':>12}{'p99':>12}"
        f"{'memory':>12}{'uptime':>12}  aims")  # fmt: skip
    wrong: list[str] = []
    with part("provider", of="abuse") as provider, installed() as installation:
        target, key = _made(installation, provider.port, replaying=any(ATTACKS[name] in REPLAYS for name in chosen))
        began = time.monotonic()
        for name in chosen:
            outcome = _attacked(installation, name, target, key, began)
            say(outcome.line())
            wrong += [f"MISSED {name}: {sentence}" for sentence in outcome.missed()]
    for sentence in wrong:
        say(sentence)
    say(f"{len(chosen)} attacks, {len(wrong)} aims missed")
    return not wrong


def _made(installation: Installation, port: int, *, replaying: bool) -> tuple[Target, str]:
    """A connection, agents, a key to attack with and another one."""
    installation.api("connections", {"name": "bench", "provider": "openai", "base_url": f"http://127.0.0.1:{port}/v1"})
    for agent, mode in schemas.MODES.items():
        for answer in schemas.ANSWERS:
            agent_of = {"name": f"{agent}-{answer}", "connection": "bench", "model": answer, "gateway_mode": mode}
            installation.api("agents", {**agent_of, "max_tokens": 50})
    attacker, other = (installation.api("keys", {"name": name})["secret"] for name in ("attacker", "other"))
    turn = replays.long_turn(installation) if replaying else ""
    return Target(installation.port, installation.token, attacker, turn), other


def _attacked(installation: Installation, name: str, target: Target, key: str, began: float) -> Outcome:
    standing, answers, missed = installation.standing(), Counter[str](), list[str]()
    with Peak(installation) as peak, bystander(target.port, key, "bench/calm") as heard:
        until = time.monotonic() + SECONDS
        ATTACKS[name](replace(target, until=until, answers=answers, missed=missed))
        time.sleep(AFTERWARDS)
    restarted = installation.standing() != standing
    return Outcome(name, answers, heard, peak.bytes, restarted, time.monotonic() - began, missed)
