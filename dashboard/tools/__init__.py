"""The tools that an agent may call, and how a call is run.

tool       what a tool is: a specification for the model, and something to await; what it returned, as text
functions  a typed Python callable as a tool: its schema and the check of arguments come from its annotations
registry   the tools of this program, by name; `builtin` fills it
mcp        tools of other programs, by the Model Context Protocol
runner     one call, with its timeout, its output limit and its errors as results
selectors  which tools there are for whom
services   writes: MCP servers and what they offer

Whatever goes wrong with a tool becomes an error result that the model can read. An asynchronous tool that is late is
ended; the thread of a synchronous one cannot be: it is left behind, and no more than `functions.MOST_THREADS` of them
exist.
"""
