"""Where every number of a turn comes from, who set it, what it cost, and trying another beside the real one.

sources    each field of a policy with its value and whose word that is, for a turn that ran and for one to come
stops      which field of a policy ended a turn
settings   who set a field to what it is, when and why
"""
