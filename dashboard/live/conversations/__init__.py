"""Conversations: consecutive turns with one agent, each with the messages before it.

models              a conversation, and its own token budget
conversation_queue  which turn runs next: the database decides, under the conversation's lock; and the messages that
                    a turn is given of those before it (docs/how-to/conversations.md)
selectors           conversations and their turns; services make them and set their budgets
page_context        a conversation as its page shows it, part by part
consumers           the page's socket: sends the parts that changed
views               `/agents/<name>/live`
"""
