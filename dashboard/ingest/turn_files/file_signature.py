"""Who wrote a turn file: the exporting installation signs it, and whoever imports it is told what the signature proves.

Everything but the signature is signed; `sha256` stands for the turn itself, and is checked on its own. A signature does
not vouch for more than its maker could: of a turn that the exporter had imported, what was proven there holds here too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.ingest.turn_files.file_schema import TurnFile
from dashboard.turns.origins import Signature
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import KnownKey
from dashboard.turns.seals.parts import canonical

_FROM_THE_STRONGEST = list(Signature)
OUTSIDE = ("format", "version", "id", "exported_at", "core_version", "sha256")


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """What a signature proves. `installation`: under which name its key is known here; empty: under none."""

    signature: Signature
    public_key: str = ""
    installation: str = ""


def signed(file: dict[str, Any]) -> dict[str, Any]:
    """The file with this installation's signature."""
    key = keys.public_key()
    return {**file, "signature": {"key": key, "ed25519": keys.sign(_message(file, key))}}


def signed_by(file: TurnFile) -> SignatureCheck:
    """What the signature of a file proves, or what its origin does, whichever is weaker; a missing or broken one is
    told, and keeps nothing from being imported."""
    return max(_signed_by(file), _proven_before(file), key=lambda one: _FROM_THE_STRONGEST.index(one.signature))


def _proven_before(file: TurnFile) -> SignatureCheck:
    """What the exporter says of a turn that was not recorded there."""
    origin = file.origin
    if origin is None:
        return SignatureCheck(Signature.OWN)
    known = origin.signature in Signature.values
    return SignatureCheck(
        Signature(origin.signature) if known else Signature.UNKNOWN, origin.public_key, origin.installation
    )


def _signed_by(file: TurnFile) -> SignatureCheck:
    given = file.signature
    if given is None:
        return SignatureCheck(Signature.UNSIGNED)
    message = _message(file.model_dump(exclude={"turn", "signature"}), given.key)
    if not keys.is_signed(message, by=given.key, signature=given.ed25519):
        return SignatureCheck(Signature.BROKEN)
    if given.key in keys.own_keys():
        return SignatureCheck(Signature.OWN, given.key)
    known = KnownKey.objects.filter(public_key=given.key).first()
    return (
        SignatureCheck(Signature.KNOWN, given.key, known.name)
        if known
        else SignatureCheck(Signature.UNKNOWN, given.key)
    )


def _message(file: Mapping[str, Any], key: str) -> bytes:
    notes = file["notes"]
    notes = {**notes, "raw_removed_at": notes.get("raw_removed_at")}
    said = {name: file[name] for name in OUTSIDE}
    return b"whystop.file.1\n" + canonical({**said, "notes": notes, "origin": file.get("origin"), "key": key})
