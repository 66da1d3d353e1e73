"""Verification, what-if, sweep and re-run of a stored turn."""
