"""What xdist takes for the interpreter of a worker: hands its three descriptors and what the interpreter is to run to
the process that workers are split from (`tests.split_workers`), and waits until the worker has ended."""

import os
import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as source:
    source.connect(f"\0whystop-workers-{sys.argv[1]}")
    socket.send_fds(source, [sys.argv[-1].encode()], [0, 1, 2])
    os.close(0)
    os.close(1)
    source.recv(1)
