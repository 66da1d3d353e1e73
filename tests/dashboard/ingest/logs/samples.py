"""A file of each kind that is read, for tests that break them."""

import json

import yaml

from tests.dashboard.ingest.logs import test_copilot as copilot
from tests.dashboard.ingest.logs import test_formats as formats
from tests.dashboard.ingest.logs import test_message_transcripts as messages
from tests.dashboard.ingest.logs import test_pairs as pairs
from tests.dashboard.ingest.logs import test_session_databases as databases
from tests.dashboard.ingest.logs import test_transcripts as transcripts
from tests.dashboard.ingest.logs import test_whole_sessions as wholes
from tests.dashboard.ingest.logs.writing import Json, chat_answer, chat_request, lines

RECORDS: dict[str, list[Json]] = {
    "pairs": [
        {"request": chat_request(), "response": chat_answer()},
        {"request": chat_request(stream=True), "response": pairs.SSE, "latency_ms": 5},
        {"request": chat_request(), "response": pairs.LINES, "status": 200},
        *({"request": request, "response": answer} for _, request, answer, _ in pairs.DIALECTS),
    ],
    "claude": transcripts.CLAUDE,
    "codex": transcripts.CODEX,
    "pi": transcripts.PI,
    "gemini": transcripts.GEMINI["messages"],
    "opencode": transcripts.OPENCODE["messages"],
    "amp": messages.AMP,
    "cline": messages.CLINE,
    "older cline": messages.OLD_CLINE,
    "qwen": messages.QWEN,
    "goose": messages.GOOSE,
    "crush": databases.CRUSH_MESSAGES,
    "continue": [wholes.CONTINUE],
    "chat": [wholes.CHAT],
    "chat by its changes": wholes.CHAT_LOG,
    "copilot": copilot.COPILOT,
    "copilot with a helper": copilot.COPILOT_HELPED,
    "har": [formats.entry(), formats.entry(text="", status=0)],
    "vcr": [*formats.VCR["interactions"], *formats.RUBY["http_interactions"]],
    "litellm": [formats.LITELLM],
    "langfuse": [formats.LANGFUSE],
}
FILES: dict[str, bytes] = {
    **{name: lines(*records) for name, records in RECORDS.items()},
    "archive": formats.archive(*RECORDS["har"]),
    "cassette": yaml.safe_dump(formats.VCR).encode(),
    "thread": json.dumps(messages.THREAD).encode(),
    "session": json.dumps(transcripts.GEMINI).encode(),
}
