"""How outcomes of turns and their certainties are named and look: words, hue and shape."""

from dashboard.policies.backtests.result_text import UNENDED

#: What a turn would have done, in words that claim no more than the recording shows; and how it looks.
OUTCOMES = {
    "same": ("end as recorded", "end", "check"),
    "completed": ("would have completed", "tool", "check"),
    "gone_on": ("would have ended later", "fact", "play"),
    "unended": (UNENDED, "wait", "play"),
    "sooner": ("would have stopped sooner", "limit", "wall"),
    "otherwise": ("would have ended for another reason", "cut", "half"),
    "undecidable": ("not known", "odd", "question"),
}
HOWS = {name: words for name, (words, _, _) in OUTCOMES.items()}
#: How certain that is; those of unknown end and the undecidable are the same ones.
CERTAINTIES = {
    "recorded": ("recorded", "fact", "disc"),
    "certain": ("certain", "sure", "equal"),
    "proven": ("proven by a re-run", "sure", "check"),
    "estimated": ("likely", "guess", "about"),
    "unended": OUTCOMES["unended"],
    "unknown": ("certainty not known", "wait", "ring"),
    "undecidable": OUTCOMES["undecidable"],
}
LOOKS = {**OUTCOMES, **CERTAINTIES}
