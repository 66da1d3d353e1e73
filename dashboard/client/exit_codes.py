"""The exit codes of the command `whystop`; 2 is argparse's, for words that it does not know."""

#: Of the turn that it watched.
OUTCOMES = {
    "completed": 0,
    "partial": 3,
    "failed": 4,
    "aborted": 5,
    "cancelled": 6,
    "interrupted": 7,
    "held": 8,
}
WRONG = 1  #: something went wrong, and was said in one sentence
STOPPED = 130  #: after Ctrl-C
