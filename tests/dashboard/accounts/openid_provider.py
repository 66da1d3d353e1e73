"""A small OpenID Connect provider for tests, over HTTP. It can be told to lie."""

import base64
import hashlib
import json
import secrets
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jws
from joserfc.jwk import OctKey, RSAKey

from tests.threaded_server import in_a_thread

CLIENT, SECRET = "whystop-tests", "a-secret-of-the-client"


class Provider:
    """Answers discovery, keys, tokens and user information. `claims` go into the next ID tokens, over the right ones;
    `user_info` is what it tells of people when it is asked."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, parameters={"kid": "one"})
        self.signs_with: Any = self.key
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "one"}
        self.claims: dict[str, Any] = {}
        self.user_info: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.status = 200  #: of the token endpoint
        self.asked: list[str] = []
        self.credentials: dict[str, str] = {}  #: the Authorization header that came last, by path
        self._codes: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append(self.path)
                provider.credentials[self.path] = self.headers.get("Authorization", "")
                pages = {
                    "/.well-known/openid-configuration": provider.described,
                    "/keys": lambda: {"keys": [provider.key.as_dict(private=False, kid="one")]},
                    "/me": lambda: {"sub": "person-1", **provider.user_info},
                }
                found = pages.get(self.path)
                self.answer(200 if found else 404, found() if found else {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                given = {name: values[0] for name, values in parse_qs(body).items()}
                self.answer(provider.status, provider.token(given, self.headers.get("Authorization", "")))

            def answer(self, status: int, told: dict[str, Any]) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{server.server_port}"
        self._serving = ExitStack()
        self._serving.enter_context(in_a_thread(server))

    def close(self) -> None:
        self._serving.close()

    def described(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/me",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            **self.metadata,
        }

    def approve(self, address: str) -> str:
        """Somebody says yes on the provider's page at this address; where the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(12)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?code={code}&state={asked['state']}"

    def token(self, given: dict[str, str], authorization: str) -> dict[str, Any]:
        asked = self._codes.pop(given["code"], None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or authorization != f"Basic {basic}" or challenge != asked["code_challenge"]:
            return {"error": "invalid_grant"}
        now = int(time.time())
        right = {"iss": self.issuer, "aud": CLIENT, "sub": "person-1", "iat": now, "exp": now + 60}
        claims = {**right, "nonce": asked["nonce"], **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        algorithms = [self.header["alg"]]
        payload = json.dumps(claims).encode()  # also a lone surrogate, which joserfc's `jwt` does not write
        keyed = self.signs_with is not None
        signed = jws.serialize_compact(self.header, payload, self.signs_with, algorithms) if keyed else ""
        return {"access_token": "a", "token_type": "Bearer", "id_token": signed or _unsigned(claims)}


def shared_key() -> OctKey:
    """A key that the client has too: its secret."""
    return OctKey.import_key(SECRET)


def _unsigned(claims: dict[str, Any]) -> str:
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join((*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""))
