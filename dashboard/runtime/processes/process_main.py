"""What runs in one of several processes. Its supervisor has made the database ready and taken the ports."""

import shutil
import socket

from dashboard.gateway.access import callers
from dashboard.platform.process_identity import ProcessIdentity
from dashboard.runtime.application_parts import parts_of
from dashboard.runtime.processes.connection_handover import HandedConnections, ReportedCensus
from dashboard.runtime.processes.key_counter import CountedElsewhere
from dashboard.runtime.processes.link import link
from dashboard.runtime.processes.messages import Ready
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.server import serve


def run_in(place: ProcessIdentity, bounds: ResourceLimits, *, worker: bool) -> None:
    """Serve, or work, until a signal or until the supervisor is gone."""
    assert link is not None, "a process with a place has a link"
    callers.counter = CountedElsewhere(link)
    census = ReportedCensus(bounds, link)
    parts = parts_of(
        HandedConnections(place.arriving, census) if place.arriving is not None else None,
        socket.socket(fileno=place.simulator) if place.simulator is not None else None,
        worker=worker,
        census=census,
        announce=lambda: link.send(Ready()),
        supervised=link.run,
    )
    try:
        serve(parts)
    finally:
        if link.is_alone:  # nobody else would remove what all of them shared
            shutil.rmtree(place.shared, ignore_errors=True)
