"""The key by which this installation signs exports and seals, and the keys of other installations."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.accounts.audit.services import command_record
from dashboard.platform.errors import StartError
from dashboard.runtime.database_setup import prepare
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import KnownKey

CHANGING = ("rotate", "retire", "trust", "forget")


class Command(BaseCommand):
    help = "Show, renew or retire the signing key; name the keys of other installations."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("show", help="print the public key, for other installations")
        actions.add_parser("new", help="print a new private key, for WHYSTOP_SIGNING_KEY")
        actions.add_parser("rotate", help="sign with a new key from now on; signatures of the old key stay valid")
        retire = actions.add_parser("retire", help="accept signatures of an earlier key of this installation")
        retire.add_argument("key", help="the public key, in base64")
        trust = actions.add_parser("trust", help="register the key of another installation under a name")
        trust.add_argument("name", help="a name for the other installation")
        trust.add_argument("key", help="its public key, in base64")
        forget = actions.add_parser("forget", help="remove a key")
        forget.add_argument("key", help="the public key to remove, in base64")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            self.stdout.write(self._done(options))
        except StartError as error:
            raise CommandError(str(error)) from error

    def _done(self, options: dict[str, Any]) -> str:
        if options["action"] in CHANGING:
            prepare(settings.ENVIRONMENT, simulator_url=None)
            command_record("signing_key", f"{options['action']} {options.get('key') or ''}".strip())
        match options["action"]:
            case "show":
                return keys.public_key()
            case "new":
                return keys.new_key()
            case "rotate":
                return f"Signing with {keys.rotate()} from now on. Restart every process that signs."
            case "retire":
                keys.retire(options["key"])
                return "Signatures of this key count as signatures of this installation."
        if options["action"] == "forget":
            gone, _ = KnownKey.objects.filter(public_key=options["key"]).delete()
            return "Forgotten." if gone else "This key was not registered."
        if not keys.is_key(options["key"]):
            raise CommandError(
                "This is not a public key: it must be 32 bytes in base64, as `signing_key show` prints it."
            )
        KnownKey.objects.update_or_create(public_key=options["key"], defaults={"name": options["name"]})
        return f"Exports signed by this key are shown as exports of {options['name']}."
