"""Comments that people attach to a step of a turn."""
