"""Model fields of a connection: how it continues a truncated answer, set by hand or found by a connection test."""

from typing import Any

from django.db import models
from django.utils import timezone

from agentcore.policy import LIMIT_NAMES
from agentcore.prefill import ECHO
from dashboard.agents.probes import CAN, Finding, Probe

NOT_A_CHOICE = {"invalid_choice": "“%(value)s” is not one of the choices."}
WAYS = {
    "prefill": "plain message (llama.cpp, Ollama, Claude up to 4.5, Groq)",
    "prefix": "prefix: true on the message (DeepSeek, Mistral)",
    "continue_final_message": "continue_final_message: true (vLLM, SGLang)",
}
EXACT = (
    "The text is the one that a single call would have given: nothing is repeated at a seam, and what-ifs with another "
    f"{LIMIT_NAMES['max_tokens']} are exact."
)
EXACTLY = "Exactly: the truncated answer is sent as the last message, and the model continues it."
BY_HINT = (
    "A hint asks the model to continue. The model may repeat words, which are removed at the seam, or write another "
    f"text than in a single call. What-ifs with another {LIMIT_NAMES['max_tokens']} are therefore estimates."
)
FOUND = {
    Finding.CONTINUES: "It continues a last assistant message.",
    Finding.ECHOES: "It continues a last assistant message, but repeats the text first.",
    Finding.IGNORES: "It does not continue a last assistant message: it starts again.",
    Finding.REFUSES: "It refuses a last assistant message.",
    Finding.UNKNOWN: "Could not tell whether it continues a last assistant message.",
}


class Continuing(models.Model):
    """The settings of a connection that say whether, and how, its models continue a last assistant message."""

    prefill = models.BooleanField(
        "continues exactly",
        default=False,
        help_text="The model continues a truncated answer in place, without a hint, when it is the last message. "
        "Test the connection to find out: other servers return an error or start the answer again.",
    )
    prefill_way = models.CharField(
        "continuation method",
        max_length=32,
        default="prefill",
        choices=list(WAYS.items()),
        error_messages=NOT_A_CHOICE,
        help_text="How the request marks the partial answer that the model is to continue. Used only if the connection "
        "continues exactly.",
    )
    prefill_echo = models.BooleanField(
        "repeats the text",
        default=False,
        help_text="The server's answer starts with the text that it continues, as with current versions of llama.cpp. "
        "Whystop removes the repeated text before it joins the parts.",
    )
    probe = models.JSONField(null=True, blank=True, editable=False)
    probed_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def continuing(self) -> dict[str, Any]:
        """What a turn's setup is told of it. A prefill that is off is left out, as it was before there was one."""
        if not self.prefill:
            return {}
        return {self.prefill_way: True} | ({ECHO: True} if self.prefill_echo else {})

    @property
    def found(self) -> Probe | None:
        """What its last test found; None where it was not tested, or had another address or dialect then."""
        if not self.probe:
            return None
        probe = Probe.of(self.probe)
        here = (getattr(self, "provider", None), getattr(self, "base_url", None))
        return probe if (probe.provider, probe.address) == here else None

    def take(self, probe: Probe) -> None:
        """Keep what a test found, and use it. Where it could not tell, the settings stay as they are."""
        self.probe, self.probed_at = probe.stored(), timezone.now()
        if probe.finding is Finding.UNKNOWN:
            return
        self.prefill = probe.finding in CAN
        self.prefill_way = probe.way if self.prefill else "prefill"
        self.prefill_echo = probe.finding is Finding.ECHOES

    def way_in_words(self) -> str:
        """Which way is used, and why it matters."""
        if not self.prefill:
            return f"By a hint. {BY_HINT}"
        echo = " The text that the server repeats is removed." if self.prefill_echo else ""
        return f"{EXACTLY} {EXACT} Method: {WAYS[self.prefill_way]}.{echo}"

    def found_in_words(self) -> str:
        """What its last test found, with which model and when."""
        probe = self.found
        if probe is None or self.probed_at is None:
            stale = "Not tested since its address or provider changed." if self.probe else "Not tested yet."
            return f"{stale} Save and test the connection to find out whether it continues exactly."
        seen = f" {probe.why}" if probe.why else ""
        told = f"{FOUND[probe.finding]}{seen} Tested with {probe.model} at {self.probed_at:%Y-%m-%d %H:%M} UTC."
        used = self.prefill == (probe.finding in CAN)
        by_hand = "" if used or probe.finding is Finding.UNKNOWN else " An operator has changed the setting since."
        return told + by_hand
