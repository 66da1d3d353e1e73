"""What OpenAI's API looks like from our side: requests read, answers and refusals said, in every dialect. Pure."""
