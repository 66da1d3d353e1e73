"""Alerts: rules on the metrics of the board, checked by the worker.

models       `Alert`, its `Firing`s, and `Mail` on its way
rules        one reading of a rule, and its words
history      when a rule would have fired on past data
services     alerts made, changed and deleted
evaluation   the worker's look at all alerts: what fires, what is resolved, who is told
mails        e-mail sent until it is accepted
selectors    alerts and their firings
"""
