"""How many files and connections this process may have open; the system counts both together."""

import resource

WANTED = 65_536  #: descriptors; more would only make a leak harder to see
#: Descriptors that stay free of incoming connections: the database's, the files, the loop's own, and a margin.
RESERVED = 256
#: Each gateway call holds its caller's connection and one to a provider.
PER_CONNECTION = 2


def raise_limit() -> int:
    """Raise this process's limit as far as it may without privileges, up to `WANTED`; the limit that then holds."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return WANTED if soft == resource.RLIM_INFINITY else soft


def connections_within(limit: int) -> int:
    """How many incoming connections a process with so many descriptors can serve."""
    return max(16, (limit - RESERVED) // PER_CONNECTION)
