"""The gateway: any OpenAI client may ask here, and its calls are turns.

models     keys, the names callers may use (aliases), what keys have spent, and one row for each call
"""
