"""Reads model calls from spans, by the convention of each instrumentation. Pure: no Django, clock or database.

spans         a span and a log event, as any exporter sends them
observations  what a span is: a call of a model, a loop around calls, a run of a tool
convention    what a convention is
tables        each convention's names of the same facts, and how its spans are told apart; those of single products in
              vendor_tables
span_kinds    which convention reads a span, and what it is
attributes    one reader for all tables
content       messages and answers in each convention's own form
span_reader   a span with its log events → what it is, or nothing
answer_ids    the ids of answers, by which spans of one call are found
failures      an error's words as a `ProviderError`

A fact that no attribute tells is None, and stays so.
"""
