"""How outcomes of turns and their certainties are named and look: words, hue and shape."""

#: What a turn would have done, in words that claim no more than the recording shows; and how it looks.
OUTCOMES = {
    "same": ("ended the same", "end", "check"),
    "gone_on": ("would have continued", "tool", "play"),
    "unended": ("would have continued, end not known", "wait", "play"),
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
