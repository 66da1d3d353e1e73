"""Backtests: a draft policy evaluated on stored turns by what-if, without calling a provider.

runner            a backtest is cut into parts, ranges of turn ids; whoever is free judges one and stores what it found
recording_loader  the turns of a part and their records, in bulk and as few objects as a what-if needs
turn_judgement    one turn under the draft: the same, flipped, or undecidable from its recording
tallies           what was found, as counts that add up; `result_text` and `presenters` say it
tried_versions    the version of a policy that a backtest tried, and whether it is active by now
answer_lengths    the smallest limit that suffices, of how long answers were (`survival`); `sweep_map` tries two limits
                  at once
batched_queries   the rows of several queries by few statements, each of a bounded size
process_pool      the processes that judge, so that an event loop which drives live turns stays free
"""
