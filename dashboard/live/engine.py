"""What all turns of one worker process share: the pool of connections to providers, and the inbox of signals."""

from dataclasses import dataclass, field

from dashboard.live.inbox import Inbox
from dashboard.live.transport import Transport


@dataclass(slots=True)
class Engine:
    transport: Transport = field(default_factory=Transport)
    inbox: Inbox = field(default_factory=Inbox)


engine = Engine()
