"""Exports: all turns of a filter as one file, which is streamed.

columns    what a turn and an attempt have in a file, with Parquet's types
turn_rows  the turns of a filter with their attempts, a few at a time
jsonl      one line of JSON a turn
parquet    one row a turn, its attempts as a list of it
formats    the formats by name, and the response that sends a file piece by piece

Other ways out: `share_links` show one turn, `telemetry` sends spans and metrics, `webhooks` tell other programs.
"""
