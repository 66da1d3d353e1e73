"""What other packages are told of the users of projects."""

from django.dispatch import Signal

#: Sent with `user`, `project` and `by` when the keys that a user made in a project are to end with the membership, in
#: the transaction that ends it. `by`: who ends it, and revokes what they may revoke; None: the identity provider.
keys_end = Signal()
