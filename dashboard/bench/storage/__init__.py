"""`manage.py bench storage`: database bytes for each byte of content, and rows for each call.

run        the suite: each kind of traffic in turn, and what the tables grew by
kinds      the traffic, and what it contains
upstream   a provider that says as much as it is asked for; a process
prose      real text, another one each time
"""
