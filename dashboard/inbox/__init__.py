"""The inbox: approvals, held turns, and notices of events that a person should see.

models      `Notice`: an approval that expired, a prediction that failed, an alert; open until somebody has seen it
services    a notice is put, or seen
selectors   the inbox as it stands: entries, each read from a held turn or a notice
"""
