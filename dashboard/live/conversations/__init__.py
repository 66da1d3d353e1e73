"""Conversations: consecutive turns with one agent, each with the messages before it.

selectors     conversations and their turns; services make them and set their budgets
page_context  a conversation as its page shows it, part by part
consumers     the page's socket: sends the parts that changed
views         `/agents/<name>/live`
"""
