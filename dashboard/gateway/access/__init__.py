"""Keys, rate limits and budgets of the gateway, as one process knows them."""
