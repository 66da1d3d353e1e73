import difflib
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from dashboard.tools.registry import registry
from dashboard.tools.tool import ToolProblem

MAX_ZONE_CHARS = 64


@registry.tool(idempotent=True)
def current_time(
    zone: Annotated[
        str | None, Field(description="An IANA time zone such as Europe/Berlin. Left out: UTC only.")
    ] = None,
) -> dict[str, str]:
    """The current date and time in UTC and, if asked for, in a time zone, in ISO 8601."""
    now = datetime.now(UTC)
    told = {"utc": now.isoformat(timespec="seconds"), "weekday": f"{now:%A}"}
    if zone is None:
        return told
    there = now.astimezone(_zone(zone))
    return {**told, "zone": zone, "local": there.isoformat(timespec="seconds"), "local_weekday": f"{there:%A}"}


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name[:MAX_ZONE_CHARS])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolProblem(f"There is no time zone “{name[:MAX_ZONE_CHARS]}”. {_how(name)}") from None


def _how(name: str) -> str:
    """How zones are named, with those that may have been meant."""
    known = {zone.lower(): zone for zone in available_timezones()}
    word = name[:MAX_ZONE_CHARS].strip().replace(" ", "_").lower()
    ends = sorted(zone for key, zone in known.items() if word and key.endswith(f"/{word}"))
    near = [known[key] for key in difflib.get_close_matches(word, known, n=3, cutoff=0.7)]
    meant = list(dict.fromkeys([*ends, *near]))[:3]
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    return f"Zones are named Area/City as in the IANA database: Europe/Berlin, America/New_York, Asia/Tokyo, UTC.{hint}"
