"""`manage.py bench chaos`: turns under way while their workers, servers and database are killed, over and over.

scratch    a cluster of the run's own        fleet      real processes, started again after their end
process    what those processes are          striking   the blows, and which turns they catch
mix        turns of every kind               checking   what must hold of each of them
run        one run of all that
"""
