"""The gateway: any OpenAI client may ask here, and its calls are turns.

keys        the door: whose secret a request carries, what it may call, how fast, and for how much
models      keys, the names callers may use (aliases), what keys have spent, and one row for each call
"""
