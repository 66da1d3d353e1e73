"""Running the product: its processes, the server, the database, health checks and request limits.

startup        ports, then the database (`database_setup`), then what is to run
server         web server, worker, simulator and the database's keeper in one loop; `application_parts` loads them,
               `warm_up` what their first requests would load
worker         runs the durable jobs of turns and the upkeep, in `up` or by itself
asgi_application  what answers a request: guard, ingest, gateway, static files, pages (`dashboard.asgi` names it)
websocket_routes  which consumer a websocket goes to
middleware     what Django does of all requests, beside what packages do of theirs
management     the commands that prepare the database before they work, and those that run processes
processes      several processes behind one port
request_guard  what stands before every request
operations     backup, restore and doctor
replay_process, replay_processes  replays (`replay_addresses`), each in a process of its own
terminal_turn, calibration_loop   turns that commands run
"""
