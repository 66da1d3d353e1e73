"""Why a turn stopped, as data: the chain of causes, and the other possible transitions of each step.

transition_case          one transition with its context: what was evaluated, and with which numbers
limit_usage              the numbers of an evaluation: how much of each limit was used, and how much more was needed
alternative_transitions  the other possible transitions: the condition of each, as text, and how close it was; by
                         deciding state:
evaluate_stop_guards     after an answer
evaluate_error_guards    after an error
pending_guards           before another call
derivation               from the end back to the provider's own stop reason; `evidence` makes its nodes
tree                     the node the derivation is made of, and a tree as lines

Nothing is evaluated again: only recorded data is read, and missing data is left out.
"""

from agentcore.why.alternative_transitions import AlternativeTransition, roads_of, roads_taken_past
from agentcore.why.derivation import Derivation, derive
from agentcore.why.tree import Fact, Kind, Node, lines_of

__all__ = [
    "AlternativeTransition",
    "Derivation",
    "Fact",
    "Kind",
    "Node",
    "derive",
    "lines_of",
    "roads_of",
    "roads_taken_past",
]
