"""Runs in the shell of the first release: starts turns of each of its agents, and waits until none goes on."""

import itertools
import os
import time

from dashboard.agents.models import Agent
from dashboard.live.services import turn_start
from dashboard.turns.models import UNFINISHED, Turn

agents = itertools.cycle(Agent.objects.order_by("name"))
for number, agent in zip(range(int(os.environ["TURNS"])), agents, strict=False):
    turn_start(agent=agent, input_text=f"Question {number}", overrides={"max_tokens": 60 + number % 90})
while Turn.objects.filter(status__in=UNFINISHED).exists():
    time.sleep(2)
