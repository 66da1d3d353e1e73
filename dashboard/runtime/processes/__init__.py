"""Several processes behind one port: `manage.py web --processes N`, and `up`.

One supervisor prepares the database, listens, and hands each connection it accepts to the process that has the fewest.
It starts processes that die again, and ends all of them with itself. What must hold for all of them together is asked
of it, over a socket that each process has to it alone; when that socket ends, the process ends.

place.py        which process this one is         supervising.py  starts, restarts and stops them
messages.py     what is said over the socket      spreading.py    accepts connections and hands them on
link.py         the socket, in a process          hub.py          what the supervisor is told and asked
arriving.py     connections, in a process         members.py      a process, as the supervisor knows it
layer.py        live updates between processes    running.py      what runs in such a process
counting.py     limits of keys, in a process
"""
