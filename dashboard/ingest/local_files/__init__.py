"""Files of this machine, for `manage.py import`: logs, transcripts and turns.

files        which files there are, and which reader reads each
file_report  one file imported: what is told of it as it goes, and what it came to
file_pool    many files at once, each in a process of its own
"""
