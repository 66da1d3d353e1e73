"""What is counted of turns, for Prometheus (spec: stop-reason-state-machine, "Metrics")."""
