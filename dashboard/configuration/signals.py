"""What other packages are told when an installation is set up."""

from django.dispatch import Signal

#: Sent with `project` when a page has created one, in the transaction that creates it, on behalf of who did.
project_created = Signal()
