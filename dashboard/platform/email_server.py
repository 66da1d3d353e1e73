"""The server that e-mail is sent by, read from one address: `smtp+tls://user:password@mail.example:587`."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

SECONDS = 15  #: that a server may take to answer
#: By the scheme: the port, whether all is encrypted, and whether the server is asked to from there on.
SCHEMES = {"smtp": (25, False, False), "smtp+tls": (587, False, True), "smtps": (465, True, False)}


@dataclass(frozen=True, slots=True)
class EmailServer:
    """Empty: no e-mail is sent."""

    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    encrypted: bool = False
    starts_encrypting: bool = False

    @classmethod
    def read(cls, address: str) -> "EmailServer":
        """Raises ValueError, without what is in the address: it may hold a password."""
        if not address:
            return cls()
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in SCHEMES or parts.path.strip("/") or parts.query:
            raise ValueError("write smtp://, smtp+tls:// or smtps://, with user:password@ where needed, host:port")
        usual, encrypted, starts = SCHEMES[parts.scheme]
        return cls(host, port or usual, unquote(parts.username or ""), unquote(parts.password or ""), encrypted, starts)

    def settings(self) -> dict[str, Any]:
        """As Django names them."""
        return {
            "EMAIL_HOST": self.host,
            "EMAIL_PORT": self.port,
            "EMAIL_HOST_USER": self.user,
            "EMAIL_HOST_PASSWORD": self.password,
            "EMAIL_USE_SSL": self.encrypted,
            "EMAIL_USE_TLS": self.starts_encrypting,
            "EMAIL_TIMEOUT": SECONDS,
        }
