"""Comments."""

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models

from dashboard.platform.fields import ShownTextField
from dashboard.platform.ids import new_id
from dashboard.turns.models import Turn

MAX_CHARS = 4_000


class Comment(models.Model):
    """A comment on one transition of a turn (0: on the whole turn). It is deleted with its turn."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, db_constraint=False, related_name="comments")
    transition = models.PositiveIntegerField()  #: its number, from 1
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    author_name = ShownTextField()  #: stays when the author is gone, or was one of another installation
    text = ShownTextField(validators=[MaxLengthValidator(MAX_CHARS)])
    created_at = models.DateTimeField()
    imported = models.BooleanField(default=False)  #: it came with a file, which claims the name
    edited_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["transition", "created_at", "id"]

    def __str__(self) -> str:
        return f"{self.author_name} at #t{self.transition}: {self.text[:60]}"
