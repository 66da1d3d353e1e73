"""Gemini, Google's generateContent. The address contains the model and the method."""
