"""The parts of a verdict, in words."""

from dataclasses import dataclass

from agentcore.remedy_text import RE_RUN


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lead` and `rest` say what happened, in one text; `lead` is what pages colour, and may be empty. `helps` says
    what would have helped, as far as the recording tells; empty where nothing is to be said."""

    lead: str
    rest: str
    helps: str = ""
    rerun: bool = False  #: only a live re-run shows more; the whole text says so at its end

    @property
    def happened(self) -> str:
        """What happened, without what would have helped."""
        return f"{self.lead}{self.rest}"

    @property
    def advice(self) -> str:
        """What would have helped, and to re-run where only that shows more."""
        return f"{self.helps} {RE_RUN if self.rerun else ''}".strip()

    def __str__(self) -> str:
        return f"{self.happened} {self.advice}".rstrip()
