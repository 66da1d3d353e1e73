"""Why it does not start."""


class StartError(Exception):
    """Something outside keeps us from starting; the message is one sentence for the person who started it."""
