"""Why a turn stopped, as data: the chain of causes, and the other possible transitions of each step.

transition_case          one move as it is looked at: what was judged, by which numbers
limit_usage              the numbers of a judgement: what of each limit was used, and what more would have let it go on
guards                   the condition of every move the table allows, in words, and how near it was; by deciding state:
evaluate_stop_guards     after an answer
evaluate_error_guards    after an error
pending_guards           where another call was judged
alternative_transitions  the moves that were not taken
max_tokens_claim         the number that a verdict names, and what it rests on
derivation               from the end back to the provider's own word; `evidence` makes its nodes
tree                     the node the derivation is made of, and a tree as lines

Nothing is evaluated again: only recorded data is read, and missing data is left out.
"""

from agentcore.why.alternative_transitions import Road, roads_of, roads_taken_past
from agentcore.why.derivation import Derivation, derive
from agentcore.why.tree import Fact, Kind, Node, lines_of

__all__ = [
    "Derivation",
    "Fact",
    "Kind",
    "Node",
    "Road",
    "derive",
    "lines_of",
    "roads_of",
    "roads_taken_past",
]
