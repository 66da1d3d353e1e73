"""What is stored as evidence. Nothing here can be forged without the signing key, which is in no database.

Chain      the hashes of one turn's history, each with the one before in it
Seal       a signed list of chains; it holds the digest of the seal before
AuditSeal  a signed list of rows of the audit log, likewise
Tombstone  a signed note that turns, or their raw answers, were removed on purpose
KnownKey   the public key of another installation, under a name
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models

from dashboard.platform.ids import new_id


class Chain(models.Model):
    """The hash chain of one turn. `parts`: kind, number and digest of each part of the history (`chains.Part`), in
    order."""

    turn_id = models.UUIDField(primary_key=True)
    parts = models.BinaryField()
    head = models.BinaryField()  #: the last link
    seal = models.IntegerField(null=True)  #: `Seal.number`; null until one holds it
    chained_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["turn_id"], condition=models.Q(seal=None), name="sealing_chain_unsealed")]

    def __str__(self) -> str:
        return f"chain of {self.turn_id}"


class SignedList(models.Model):
    """What every kind of seal has. members: for each, 16 bytes of id and 32 of digest."""

    MARK: ClassVar[bytes]  #: that the signed bytes begin with
    SIGNED: ClassVar[tuple[str, ...]]  #: the columns that are signed as they are

    number = models.IntegerField(primary_key=True)  #: from 1, without gaps
    made_at = models.DateTimeField()
    previous = models.TextField()  #: digest of the seal before; empty for the first
    members = models.BinaryField()
    public_key = models.TextField()
    signature = models.TextField()
    digest = models.TextField()

    class Meta:
        abstract = True
        ordering = ["number"]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.number} of {self.made_at:%Y-%m-%d %H:%M}"


class Seal(SignedList):
    """A signed seal over many turns. members: for each turn, by id, 16 bytes of id and 32 bytes of head."""

    MARK, SIGNED = b"whystop.seal.1\n", ("number", "made_at", "complete_at", "previous")

    complete_at = models.DateTimeField(null=True)  #: all turns that had ended then are in this seal or an earlier one


class AuditSeal(SignedList):
    """A signed seal over rows of the audit log. members: for each row, by time, 16 bytes of id and 32 of digest."""

    MARK, SIGNED = b"whystop.audit-seal.1\n", ("number", "made_at", "since", "until", "previous")

    since = models.DateTimeField(null=True)  #: `until` of the seal before
    until = models.DateTimeField()  #: every row up to this moment is in this seal or an earlier one


class Tombstone(models.Model):
    """Turns that a permitted user erased, or whose raw responses were removed."""

    class Kind(models.TextChoices):
        ERASED = "erased"
        RAW = "raw"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.TextField(choices=Kind)
    by = models.TextField()
    at = models.DateTimeField()
    turn_ids = ArrayField(models.UUIDField())
    public_key = models.TextField()
    signature = models.TextField()

    def __str__(self) -> str:
        return f"{self.kind} by {self.by} {self.at:%Y-%m-%d %H:%M}"


class KnownKey(models.Model):
    """A public key whose exports are shown under a name. It does not make a turn verified."""

    public_key = models.TextField(primary_key=True)
    name = models.TextField()
    added_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
