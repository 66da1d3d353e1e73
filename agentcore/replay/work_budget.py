"""How much work a what-if is: counted in steps and characters, so that the same question costs the same everywhere.

One unit is about what feeding one recorded event takes. A recording's own events are as many as they are; what is
imagined beyond them is bounded, however large the limits are and however small the caps.
"""

from dataclasses import dataclass

MOST_WORK = 4_000  #: of what one what-if imagines, all its runs together: at most 1,334 imagined steps
_FOLLOWED, _IMAGINED = 1, 3  #: units of a step
_SAID = 200  #: characters of an answer that are one unit more: they are joined one by one where they repeat themselves
_READ = 100_000  #: the same of the text so far and the tape, which are read as wholes
_COMPARED = 20  #: the same of recorded calls and messages that a call is compared with


@dataclass(slots=True)
class Work:
    """The work of one what-if. Its runs share it."""

    imagined: int = 0  #: bounded
    followed: int = 0  #: as much as the recording holds
    steps: int = 0  #: imagined ones

    @property
    def over(self) -> bool:
        """Whether nothing more is imagined."""
        return self.imagined >= MOST_WORK

    @property
    def words(self) -> str:
        """Why it stopped."""
        calls = "1 imagined record" if self.steps == 1 else f"{self.steps:,} imagined records"
        return f"stopped after {calls}: the rest would take too much work"

    def follow(self, said: int, read: int) -> None:
        """Count a recorded step: characters that were said, and of the text that they were joined to."""
        self.followed += _FOLLOWED + said // _SAID + read // _READ

    def imagine(self, said: int, read: int, compared: int) -> None:
        """Count an imagined step. `compared`: recorded calls and messages that its request was compared with."""
        self.steps += 1
        self.imagined += _IMAGINED + said // _SAID + read // _READ + compared // _COMPARED
