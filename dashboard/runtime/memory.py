"""Has the C library give memory back to the system once it is free.

Left to itself glibc keeps what threads freed in as many as eight arenas for each core, and after the first large piece
was freed it keeps those that are as large too: a process that once answered 10 MB held 70 MB from then on.
"""

import ctypes

_LARGE = 128 * 1024  #: bytes; pieces from here on are the system's own, and go back at once. glibc begins with it too
_TRIM, _MMAP, _ARENAS = -1, -3, -8  #: options of mallopt, in malloc.h


def give_back_memory() -> bool:
    """For this process, best before it has threads. False: this C library has no such options, and needs none."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all(mallopt(option, value) for option, value in ((_ARENAS, 2), (_TRIM, _LARGE), (_MMAP, _LARGE)))
