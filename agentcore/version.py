"""Which judgement this is."""

#: The version of the core's judgement; stored with every turn. It goes up when the same events are judged otherwise.
VERSION = "5"
