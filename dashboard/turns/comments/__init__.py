"""Comments on a step of a turn."""
