"""The experience with a model: what a product finds in its stored calls, counted anew."""

import random
from dataclasses import replace

from agentcore.replay import Experience, Observed
from tests.agentcore.playbook import Playbook
from tests.agentcore.replay.examining import begun, run
from tests.agentcore.replay.model_server import Model
from tests.agentcore.replay.texts import prose

TURNS = 8
ENDS_AT_CAP = 3  #: calls said to have ended, with all tokens used, that show how this server reports
CAPS = (40, 90, 160, 300)


def experience_with(model: Model) -> Experience:
    """What this many turns show of truncation: how it is reported, and the tokens that count and stand in no usage."""
    chance, told, ends, left = random.Random(model.seed), 0, 0, list[int]()
    for _ in range(TURNS):
        cap = chance.choice(CAPS)
        other = replace(model, seed=chance.randrange(10**9), texts=(prose(chance, 400),), fails={})
        for record in run(begun(Playbook(max_tokens=cap)), other).records:
            response = getattr(record.event, "response", None)
            if response is None:
                continue
            used = response.usage.output_tokens if response.usage else 0
            told += response.raw_stop_reason == "length"
            ends += response.raw_stop_reason == "stop" and used == cap
            left += [cap - used] * (response.raw_stop_reason == "length")
    unreported = Observed(float(sorted(left)[-(len(left) // 20) - 1]), len(left)) if left else None
    return Experience(tells_cuts=bool(told) if told or ends >= ENDS_AT_CAP else None, unreported=unreported)
