"""What was read of a log, stored: by the same path as traces, in portions, each wholly or not at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID, uuid5

import structlog
from django.db import DataError, transaction
from django.utils import timezone

from dashboard.agents.schema_validation.judge_overload import JudgingSpent
from dashboard.agents.schema_validation.validator import violations
from dashboard.gateway.recording.complete_turns import TurnStore
from dashboard.ingest import span_store
from dashboard.ingest.assembly.trace import TraceTurn, turns_of
from dashboard.ingest.logs.episode_ranking import Extent, by_trace, extent_of, fuller, rank
from dashboard.ingest.logs.values import Episode, Fault, Found, Skipped
from dashboard.ingest.models import Ingested
from dashboard.ingest.services import base_policy
from dashboard.ingest.turn_store import turns_put

log = structlog.get_logger(__name__)

LOGS = UUID("6c6f6773-0000-8000-8000-000000000000")  #: the sender of logs that no user imported, but this host
PORTION = 64  #: episodes
NOT_STORABLE = "The database does not accept a value in it."
NOT_MADE = "No turn could be created from it. The server log has the error."


@dataclass(slots=True)
class ImportProgress:
    """What came of a file so far. `turns`: new or changed; `here`: episodes that were here already."""

    turns: int = 0
    here: int = 0
    skipped: int = 0
    last: UUID | None = None  #: the turn that was written last
    sessions: dict[str, tuple[UUID, UUID]] = field(default_factory=dict)  #: of each, its first turn and its last


def log_import(
    found: Iterable[Found], *, name: str, project_id: UUID, by: int | None, taken: ImportProgress, dry: bool = False
) -> Iterator[Fault]:
    """Store what is found in a file of this name; yields what could not be taken, as it goes. `taken` is counted up.

    `dry`: only count what would be stored."""
    portion: list[Episode] = []
    for one in found:
        match one:
            case Fault():
                yield one
            case Skipped():
                taken.skipped += 1
            case Episode():
                portion.append(one)
                if len(portion) >= PORTION:
                    yield from _stored(portion, name, project_id, by, taken, dry=dry)
                    portion = []
    yield from _stored(portion, name, project_id, by, taken, dry=dry)


def _stored(
    portion: Sequence[Episode], name: str, project_id: UUID, by: int | None, taken: ImportProgress, *, dry: bool
) -> Iterator[Fault]:
    """The portion at once; where the database refuses that, one by one, so that only the one it means is left out."""
    try:
        yield from _put(portion, name, project_id, by, taken, dry=dry)
    except (DataError, ValueError) as error:
        if len(portion) > 1:
            for one in portion:
                yield from _stored([one], name, project_id, by, taken, dry=dry)
            return
        log.warning("log_record_not_storable", why=str(error)[:300])
        yield Fault(portion[0].line, NOT_STORABLE)


def _put(
    portion: Sequence[Episode], name: str, project_id: UUID, by: int | None, taken: ImportProgress, *, dry: bool
) -> list[Fault]:
    traces, sender = by_trace(portion), sender_of(by)
    with transaction.atomic():
        span_store.lock(project_id, sender, traces)
        known = _known(project_id, sender, traces)
        fresh = {trace: one for trace, one in traces.items() if not (one.is_settled and trace in known)}
        told, sessions, faults = _made(fresh, project_id, sender, dict(taken.sessions))
        extents = {trace: extent_of(fresh[trace], turns) for trace, turns in told.items()}
        made = {trace: told[trace] for trace in fuller(extents, known)}
        now = timezone.now()
        with TurnStore() as store:
            put = partial(turns_put, project_id, sender, made, store)
            written = set(put(by=by, at=now, log=name, extents=extents) if made else ())
        transaction.set_rollback(dry)
    changed = sum(any(one.id in written for one in turns) for turns in made.values())
    taken.turns += len(written)
    taken.here += len(portion) - len(faults) - changed
    taken.sessions = sessions
    taken.last = max(written) if written else taken.last
    return faults


def sender_of(by: int | None) -> UUID:
    """Who may change an import: its importer alone. The same log of another user comes to other turns."""
    return LOGS if by is None else uuid5(LOGS, str(by))


def _known(project_id: UUID, sender: UUID, traces: Iterable[UUID]) -> dict[UUID, Extent]:
    """Those of which there are turns already, with how much was told of each at most: its turns may have been stored
    at different times."""
    rows = Ingested.objects.filter(project_id=project_id, sender=sender, trace__in=list(traces))
    known = dict[UUID, Extent]()
    for trace, extent in rows.values_list("trace", "extent"):
        known[trace] = max(known.get(trace, ()), tuple(extent), key=rank)
    return known


def _made(
    episodes: Mapping[UUID, Episode], project_id: UUID, sender: UUID, sessions: dict[str, tuple[UUID, UUID]]
) -> tuple[dict[UUID, list[TraceTurn]], dict[str, tuple[UUID, UUID]], list[Fault]]:
    made, faults = dict[UUID, list[TraceTurn]](), []
    for trace, episode in episodes.items():
        try:
            trace_name = f"{project_id.hex}/{sender.hex}/{episode.key}"
            turns = turns_of(trace_name, episode.seen, episode.parents, base_policy(), violations)
        except JudgingSpent as spent:
            faults.append(Fault(episode.line, str(spent)))
            continue
        except Exception:
            # Whatever a stranger's file holds, it must not keep the rest of it from being stored.
            log.exception("log_record_without_turns", line=episode.line)
            faults.append(Fault(episode.line, NOT_MADE))
            continue
        made[trace] = [_in_run(one, episode, sessions) for one in turns]
    return made, sessions, faults


def _in_run(one: TraceTurn, episode: Episode, sessions: dict[str, tuple[UUID, UUID]]) -> TraceTurn:
    """The turn in its session's run, and its notes in words about logs."""
    notes = tuple(replace(note, words=_about_logs(note.words)) for note in one.notes)
    if not episode.session:
        return replace(one, notes=notes)
    root, last = sessions.get(episode.session, (one.id, None))
    sessions[episode.session] = root, one.id
    return replace(one, notes=notes, root=root, follows=last)


def _about_logs(words: str) -> str:
    return words.replace("The trace", "The log").replace("the trace", "the log")
