"""Parsers of log formats: records in, requests with their answers out. Pure.

pairs       objects that hold a request and its answer, under whichever names
batches     results of the providers' batch interfaces
archives    HTTP archives (HAR), and cassettes of VCR and its kin
litellm     LiteLLM's standard log
langfuse    Langfuse's observations
"""
