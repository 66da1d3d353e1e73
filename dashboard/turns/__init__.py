"""Turns: their storage, their reading, and the pages of one turn."""
