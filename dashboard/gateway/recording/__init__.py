"""How calls get into Postgres: in groups, by one statement, before their callers hear the end."""
