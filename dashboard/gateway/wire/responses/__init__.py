"""Responses: OpenAI's newer dialect, the default of its agents SDK and of coding agents."""
