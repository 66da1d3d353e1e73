"""Parsers of the transcripts that coding agents store on a developer's disk. Pure.

A turn begins with what the user said, and holds every call until the next words of the user. Its request holds what was
said since the turn before: the session is a run, whose earlier turns hold the rest.

session_calls      what the lines of any agent come to
claude             ~/.claude/projects/*/*.jsonl
codex              ~/.codex/sessions/**/rollout-*.jsonl, also packed with zstd
pi                 ~/.pi/agent/sessions/**/*.jsonl
gemini             ~/.gemini/tmp/*/chats/session-*.json
opencode           what `opencode export` writes
opencode_database  ~/.local/share/opencode/opencode.db
"""
