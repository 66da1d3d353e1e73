"""What stands before everything else that the web server runs.

On a connection, before there is a request:
  bounds.py    the numbers                          protocol.py  HTTP: heads, bodies and readers are timed and bounded
  census.py    who is connected, who makes room     sockets.py   websockets
  pace.py      who is too slow                      closing.py   how a connection ends, whatever its client does

On a request, before anything of it is kept:
  guard.py     the ASGI application before all      sizes.py     how large a body each address takes
  callers.py   who may send a large one             refusing.py  an answer in the form its address speaks
  rooms.py     how many are worked on at once
"""
