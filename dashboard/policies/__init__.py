"""Where every number of a turn comes from, who set it, what it cost, and trying another beside the real one.

sources            each field of a policy with its value and whose word that is, for a turn that ran and one to come
stops, stopped     which field of a policy ended a turn; `stop_fields` is pure
settings           who set a field to what it is, when and why
ledger             the same of all that stopped turns, with what it cost
overview, diff     policies and versions as their pages show them
trail              who did what
filing             policies as one file, out and in
shadowing          a draft judged over live turns; `models`, `services` and `selectors` are shadows and verdicts
words              fields and values in English
views, acting      pages to look at, and what may be done on them
"""
