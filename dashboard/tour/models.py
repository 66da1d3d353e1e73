"""Stop: the turn of a lesson. It goes with its turn; what is no stop is not the tour's."""

from typing import ClassVar

from django.db import models


class Stop(models.Model):
    """A lesson that was started. Each lesson has at most one turn, however often the tour is loaded."""

    turn = models.OneToOneField(
        "turns.Turn", on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="stop"
    )
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False)
    lesson = models.TextField()  #: `lessons.Lesson.key`

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "lesson"], name="tour_stop_one_turn_of_a_lesson")
        ]

    def __str__(self) -> str:
        return f"{self.lesson}: {self.turn_id}"
