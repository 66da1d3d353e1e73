"""Serves one call, from its turn to its last byte: drives the turn, calls the provider, relays the answer."""
