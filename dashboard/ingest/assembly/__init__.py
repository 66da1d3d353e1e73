"""Assembles turns and their histories from the spans of a trace. Pure: no Django, clock or randomness.

span_tree       the spans of a trace, as far as they have come
call_dedup      a call that several spans tell of, as one
shared_answers  a call that several traces tell of, told in one of them
tool_call_spans  tool calls of an answer that have spans of their own
tools_within    tools that ran within the span of a call
runs_without_calls  agents' runs of whose calls the trace has none
turn_grouping   the calls of a trace, put into turns
call_links      whether a call goes on from the one before it, and how
model_answers   a call as the answer that the machine is told
notes           what is not known of a turn, or differs from what its provider said
implied_policy  the policy that the calls of a turn imply
histories       the machine, told of the calls one after another
trace           all of it, for one trace

The same spans give the same turns, whatever order they came in.
"""
