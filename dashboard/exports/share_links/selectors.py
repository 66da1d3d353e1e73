"""Reads of links."""

from uuid import UUID

from django.db.models import QuerySet

from dashboard.exports.share_links.models import ShareLink
from dashboard.turns.models import Turn


def links_of(turn: Turn) -> QuerySet[ShareLink]:
    """All that were made of a turn, the newest first, with who made and who revoked them."""
    return ShareLink.objects.filter(turn=turn).select_related("created_by", "revoked_by")


def link_get(link_id: int, *, turn_id: UUID) -> ShareLink:
    """Raises `ShareLink.DoesNotExist` also where it is another turn's."""
    return ShareLink.objects.get(pk=link_id, turn_id=turn_id)
