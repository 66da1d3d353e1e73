"""`/docs/`: the Markdown of `docs/` as pages, with a table of contents, anchors and a search.

contents    the table of contents, read from `docs/index.md`, and where each page's file is
markdown    a file as HTML without raw HTML, and as sections of plain text
search      the sections in which all words occur, the best first
"""
