"""The audit log: one entry for each request or command that changes something or exports turns.

models        `Entry`, which the database lets nobody change or delete
middleware    writes an entry once a request has been answered
services      writes an entry of a command
selectors     entries by filters, with the configuration changes made in their course
action_words  what an action is called on the page, by its route
views         the page and the export
"""
