"""Turns from existing logs: files of requests and answers, and transcripts of coding agents.

values                         what a reader finds in a file: episodes, and faults by line
timestamps                     times as logs write them
line_reader, json_list_reader  a file's lines, or the elements of its list, in bounded memory
dialects                       whose request or answer it is
request_reader                 a request, as far as it can be read
credentials                    what of a record is not kept
exchanges                      a request with its answer, as a call: decoded by the provider's own codec
formats                        one module for each kind of log: its records → exchanges
transcripts                    one module for each coding agent: its session's lines → the calls of its turns
format_detection               which of these reads a file
episode_ranking                which of two accounts of one episode is kept
session_databases              the databases of OpenCode, Goose, Crush and Cursor
services                       what was read, stored by the same path as traces
server_import                  the same of a log that was sent to a server
"""
