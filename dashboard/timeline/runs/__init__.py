"""Runs: calls that continue one another's conversation, recognized by their content (`dashboard.turns.run_keys`).

run_links     finds the run of turns that were stored before there were runs, or out of order
selectors     runs as they are listed and told
run_path      the calls of a run as one path with branches; `call_additions` is what each added
page_context  what the page of a run is rendered from
"""
