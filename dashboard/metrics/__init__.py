"""Prometheus metrics of turns (spec: stop-reason-state-machine, "Metrics")."""
