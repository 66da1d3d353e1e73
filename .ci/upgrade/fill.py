"""Runs in the shell of the first release: starts turns of each of its agents, and waits until none goes on.

It fails, and names the turns that are left, once none has ended for `PATIENCE_SECONDS`.
"""

import itertools
import os
import sys
import time

from dashboard.agents.models import Agent
from dashboard.live.services import turn_start
from dashboard.turns.models import UNFINISHED, Turn

PATIENCE_SECONDS = float(os.environ.get("PATIENCE_SECONDS", "300"))
NAMED = 20

agents = itertools.cycle(Agent.objects.order_by("name"))
for number, agent in zip(range(int(os.environ["TURNS"])), agents, strict=False):
    turn_start(agent=agent, input_text=f"Question {number}", overrides={"max_tokens": 60 + number % 90})

left, latest = -1, 0.0
while now := Turn.objects.filter(status__in=UNFINISHED).count():
    if now != left:
        left, latest = now, time.monotonic() + PATIENCE_SECONDS
    elif time.monotonic() > latest:
        ids = Turn.objects.filter(status__in=UNFINISHED).order_by("id").values_list("id", "status")[:NAMED]
        names = ", ".join(f"{turn} ({status})" for turn, status in ids)
        sys.exit(f"{left} turns are left, and none has ended for {PATIENCE_SECONDS:.0f} s: {names}")
    time.sleep(2)
