"""Several processes behind one port: `manage.py web --processes N`, and `up`.

One supervisor prepares the database, listens, and hands each connection it accepts to the process that has the fewest.
It starts processes that die again, and ends all of them with itself. What must hold for all of them together is asked
of it, over a socket that each process has to it alone; when that socket ends, the process ends.

supervisor          starts, restarts and stops the processes
load_balancer       accepts connections and hands them on
hub                 what the supervisor is told and asked
members             a process, as the supervisor knows it
messages            what is said over the socket
link                the socket, in a process
process_main        what runs in such a process, and the limits of keys there
connection_handover connections, in a process
channel_layer       live updates between processes
"""
