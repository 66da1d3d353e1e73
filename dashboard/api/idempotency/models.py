"""What was answered to a write that was sent with a key."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class KeptAnswer(models.Model):
    """The stored answer for one idempotency key of one user. Without a status, the request is still running."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key_digest = models.CharField(max_length=64)  #: SHA-256 of the header, in hex
    request_digest = models.CharField(max_length=64)  #: SHA-256 of token, method, address and body, in hex
    claimed_at = models.DateTimeField(db_index=True)  #: when the request came
    status = models.PositiveSmallIntegerField(null=True)  #: of HTTP
    content_type = models.TextField(default="")  #: of the answer
    sealed_body = models.BinaryField(default=b"")  #: `services.KeyedRequest.sealed`: it may hold a secret

    class Meta:
        default_permissions: ClassVar = ()
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "key_digest"], name="idempotency_one_answer_of_a_key")
        ]

    def __str__(self) -> str:
        return f"{self.key_digest[:8]} of user {self.user_id}"
