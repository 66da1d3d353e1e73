"""What all turns of one worker process share: connections to providers, the inbox of signals, places in line."""

from dataclasses import dataclass, field

from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport


@dataclass(slots=True)
class Engine:
    transport: Transport = field(default_factory=Transport)
    inbox: SignalInbox = field(default_factory=SignalInbox)
    slots: Slots = field(default_factory=Slots)


engine = Engine()
