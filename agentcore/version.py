"""The version of the rules."""

#: The version of the core's judgement; stored with every turn. It goes up when the same events are judged otherwise or
#: told in other words, and when a codec writes another request or reads another answer: `verify` makes all of them
#: again and compares them.
VERSION = "14"
