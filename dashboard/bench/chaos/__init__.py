"""`manage.py bench chaos`: kills workers, servers and the database again and again while turns run.

scratch           a cluster of the run's own
fleet             real processes, started again after their end
process           what those processes are
population        turns of every kind
fault_injection   the blows, and which turns they catch
invariants        what must hold of each of them
run               one run of all that
"""
