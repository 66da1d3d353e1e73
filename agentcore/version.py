"""The version of the rules."""

#: The version of the core, stored with every turn. It is raised when the same events have another result or another
#: wording, and when a codec encodes another request or decodes another answer: `verify` computes all of these again and
#: compares them.
VERSION = "18"
