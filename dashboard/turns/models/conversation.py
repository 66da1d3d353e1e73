"""The messages of turns: as nodes that turns share, and as turns of before there were nodes have them."""

from django.db import models


class Node(models.Model):
    """A message and the messages before it, in each form that was sent (`dashboard.turns.nodes`)."""

    id = models.UUIDField(primary_key=True, editable=False)  #: a keyed hash of parent and content
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")
    packed = models.BinaryField()  #: the content, compressed

    def __str__(self) -> str:
        return f"node {self.id}"


class LooseNode(models.Model):
    """A node whose turn was erased. It is deleted once nothing refers to it (`dashboard.timeline.node_cleanup`)."""

    id = models.UUIDField(primary_key=True, editable=False)

    def __str__(self) -> str:
        return f"loose node {self.id}"


class TurnMessage(models.Model):
    """One message of the conversation, as the JSON text that is sent to the provider, byte for byte."""

    pk = models.CompositePrimaryKey("turn_id", "n")
    turn_id = models.UUIDField()
    n = models.PositiveIntegerField()  #: from 0
    wire = models.TextField()

    class Meta:
        ordering = ["turn_id", "n"]


class ClientRequest(models.Model):
    """The client's request of a turn, from which its body is restored byte for byte (`history.client_body_of`)."""

    turn_id = models.UUIDField(primary_key=True)
    #: what stands around the messages, which are the turn's (`Turn.node`); null for requests from before nodes
    frame = models.ForeignKey(Node, null=True, on_delete=models.PROTECT, related_name="requests", db_index=False)
    body = models.BinaryField(null=True)  #: of such a request

    class Meta:
        indexes = [
            models.Index(fields=["frame"], condition=models.Q(frame__isnull=False), name="turns_clientrequest_frame")
        ]

    def __str__(self) -> str:
        return f"request of {self.turn_id}"
