"""Writes calls to Postgres: many in one statement, before their callers receive the end of the answer."""
