"""A draft policy tried over stored turns by what-if, no provider asked.

working    a backtest is cut into parts, ranges of turn ids; whoever is free judges one and stores what it found
reading    the turns of a part and their records, in bulk and as few objects as a what-if needs
judging    one turn under the draft: the same, flipped, or undecidable from its recording
tallies    what was found, as counts that add up; `result_text` and `presenters` say it
draft_views  what the form of a policy says, tried before it is saved
pool       the processes that judge, so that an event loop which drives live turns stays free
"""
