"""The error context for the error policy: the machine's own, or that of `Policy.resolver`."""

from dataclasses import dataclass

from agentcore.argument_validation import required
from agentcore.error_policy import ErrorContext, ResolvesErrorContext
from agentcore.snapshot import Snapshot
from agentcore.values import replace

UNRESOLVED = "The error-context resolver "  #: The start of the sentence for a resolver that failed.


class Unresolved(Exception):
    """A resolver failed. The text of the exception says why."""


@dataclass(frozen=True, slots=True)
class AgentErrorContextResolver:
    """The default resolver: the context as counted by the machine. A custom resolver may start from it."""

    def resolve(self, state: Snapshot) -> ErrorContext:
        """The type of the failure and the failures that the snapshot counts."""
        required(state, Snapshot, "state")
        return state.counted_error_context()


def resolved(snapshot: Snapshot, resolver: ResolvesErrorContext) -> Snapshot:
    """The snapshot with the resolver's context of its failure. The resolver is called once per failure."""
    failure = snapshot.failure
    if failure is None or failure.context is not None or failure.unresolved:
        return snapshot
    try:
        context = resolver.resolve(snapshot)
        if not isinstance(context, ErrorContext):
            raise Unresolved(f"{UNRESOLVED}gave a {type(context).__name__}, not an ErrorContext")
    except Unresolved as error:
        return replace(snapshot, failure=replace(failure, unresolved=str(error)))
    except Exception as error:
        words = f"{UNRESOLVED}raised {type(error).__name__}: {error}"
        return replace(snapshot, failure=replace(failure, unresolved=words))
    return replace(snapshot, failure=replace(failure, context=context))
