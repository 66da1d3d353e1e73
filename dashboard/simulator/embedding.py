"""`/v1/embeddings`: a short vector for each text, the same for the same text."""

import base64
import struct
from hashlib import sha256

from dashboard.simulator import errors
from dashboard.simulator.dialects.base import encoded
from dashboard.simulator.dialects.request_reader import model_of, payload_of
from dashboard.simulator.errors import Reply
from dashboard.simulator.tokens import count_tokens

DIMENSIONS = 8


def embedded(body: bytes) -> Reply:
    """The vectors of one text or of several. Raises `RequestError`."""
    payload = payload_of(body)
    model, given = model_of(payload), payload.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise errors.wrong_type("input", "a string or an array of strings", given)
    packed = payload.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(text) if packed else _vector(text)}
        for index, text in enumerate(texts)
    ]
    tokens = sum(count_tokens(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(200, encoded({"object": "list", "data": data, "model": model, "usage": usage}))


def _vector(text: str) -> list[float]:
    digest = sha256(text.encode(errors="replace")).digest()
    return [byte / 256 for byte in digest[:DIMENSIONS]]


def _packed(text: str) -> str:
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *_vector(text))).decode()
