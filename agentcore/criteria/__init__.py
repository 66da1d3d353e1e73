"""Criteria: named rules about continuing, and how their decisions are resolved.

    continue = no Forbid and (a Request, or an Allow without AllowStop)

A criterion is a plain class with `explain(state)` (a decision, its reason, the numbers behind it) or at least
`decide(state)` (the decision alone). All are asked, in any order; one that raises forbids. One answer is a
value of `agentcore.evaluation`, all of them together one of `agentcore.continuation_outcome`.

builtin             the criteria of every turn: steps, tokens, time, finish reasons, the error policy, tool calls; and
                    `ResponseContentCheck`, which a policy may name
incomplete_answers  whether a cut answer is continued, and a broken tool call repaired
envelope_retries    whether a structured answer is requested again
"""
