"""Gemini: Google's generateContent, which its clients speak. The model and the method stand in the address."""
