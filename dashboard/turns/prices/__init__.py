"""The price of model calls, at list prices.

rates      the list price of a model, from the data that comes with `genai-prices`; nothing is fetched
selectors  what a stored turn, its attempts, or a recording cost
"""
