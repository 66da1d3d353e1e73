"""The conversation that a turn belongs to, as it is stored; `live.conversations` has the pages."""
