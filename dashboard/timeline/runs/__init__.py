"""Runs: calls that continue one another's conversation, recognized by their content (`dashboard.turns.run_keys`).

run_links     finds the run of turns that were stored before there were runs, or out of order
selectors     runs as they are listed and told
page_context  a run as its page shows it: one path with branches; `call_additions` is what each call added
"""
