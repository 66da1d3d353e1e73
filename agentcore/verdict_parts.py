"""The parts of a verdict, in words."""

from dataclasses import dataclass

from agentcore.remedy_text import RE_RUN


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lead` and `rest` together say what happened. `lead` is the part that pages highlight, and may be empty. `helps`
    says what would have helped, according to the recording; it may be empty."""

    lead: str
    rest: str
    helps: str = ""
    rerun: bool = False  #: only a live re-run can tell more; the full text ends with this advice

    @property
    def happened(self) -> str:
        """What happened, without the remedy."""
        return f"{self.lead}{self.rest}"

    @property
    def advice(self) -> str:
        """What would have helped, and the advice to re-run if only that can tell more."""
        return f"{self.helps} {RE_RUN if self.rerun else ''}".strip()

    def __str__(self) -> str:
        return f"{self.happened} {self.advice}".rstrip()
