"""What other packages are told of turns under way. Each is sent in the transaction of what it tells."""

from django.dispatch import Signal

#: Sent with `turn`, `by` and `told`, one sentence, when an operator decided about calls that waited for approval.
calls_decided = Signal()
#: Sent with `turn` and `told`, one sentence, when nobody approved calls in time.
approval_expired = Signal()
