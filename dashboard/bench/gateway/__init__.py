"""`manage.py bench gateway`: the gateway's overhead, compared with a direct call and with a bare proxy.

run              the suite: who is measured, in turns, and how it is printed
upstream         a provider that answers at once, whole or as a stream of 200 chunks, or sends them one by one
proxy            the least that can stand in between, aiohttp's server and client; a process
recording_proxy  the same, and the least that recording can be; a process
gateway_server   the gateway as `up` serves it, recording into a database of the run's own; a process, or several
callers          so many callers, each of which asks again as soon as it is answered; a process
bench_process    what these processes have in common
"""
