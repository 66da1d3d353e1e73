"""`manage.py bench soak`: mixed traffic for a long time, to see whether memory grows.

traffic   the kinds of requests, and the callers that repeat them
samples   memory of each process, open files, database connections and rows, at intervals
run       what is printed, and what is aimed at
"""
