"""`manage.py bench ingest`: how many spans a second are stored.

run            exports sent over HTTP to a process that serves, and the same rows by bare COPY
spans          what is sent: traces of single calls, and of agents
"""
