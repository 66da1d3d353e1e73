"""Responses, OpenAI's newer dialect: the default of its Agents SDK and of coding agents."""
