"""Verification, what-if, sweep and re-run of a stored turn.

services       verify and what-if; `sweep_service` tries many values of one limit, `rerun_service` asks again, live
sweep_values   what a sweep found; `sweep_result` is the same in words, `margin_text` how a value comes about
forms          what a reader may change; `replay_query` is the same as an address
lineage        which turn was re-run from which
endings        how a turn ends, as values that can be stored and compared
usage_bounds   what a re-run may cost at most
comparison     two turns side by side
"""
