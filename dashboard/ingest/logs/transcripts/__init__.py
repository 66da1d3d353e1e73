"""Parsers of the transcripts that coding agents store on a developer's disk. Pure.

A turn begins with what the user said, and holds every call until the next words of the user. Its request holds what was
said since the turn before: the session is a run, whose earlier turns hold the rest.

session_calls      what the lines of any agent come to
open_sessions      sessions of one file beside one another, in bounded memory
claude             ~/.claude/projects/*/*.jsonl
codex              ~/.codex/sessions/**/rollout-*.jsonl, also packed with zstd
pi                 ~/.pi/agent/sessions/**/*.jsonl
aider              .aider.chat.history.md in a project's folder
gemini             ~/.gemini/tmp/*/chats/session-*.json
message_sessions   sessions whose records are messages, the frame of the next five; and sessions that are one document
                   each, the frame of the last ones of JSON
amp                ~/.local/share/amp/threads/T-*.json
cline              the tasks of Cline and Roo Code: api_conversation_history.json
crush              .crush/crush.db in a project's folder
goose              ~/.local/share/goose/sessions: *.jsonl of older releases, sessions.db of newer ones
qwen               ~/.qwen/projects/*/chats/*.jsonl
copilot            ~/.copilot/session-state/*/events.jsonl
continue_dev       ~/.continue/sessions/*.json
vscode_chat        the chats of Visual Studio Code: chatSessions/*.json
vscode_log         the same as newer releases write them: chatSessions/*.jsonl
opencode           what `opencode export` writes
cursor             the bubbles of Cursor's chats
cursor_chats       Cursor's database: state.vscdb
bounded_sqlite     a SQLite database, read with no more work than its size explains
"""
