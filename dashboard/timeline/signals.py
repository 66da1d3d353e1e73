"""What other packages are told when turns are erased."""

from django.dispatch import Signal

#: Sent with `turn_ids` before the rows of these turns are deleted, in the transaction that deletes them.
turns_leave = Signal()
