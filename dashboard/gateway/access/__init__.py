"""Who may call, how fast and for how much: keys as one process knows them, and what it counts of them."""
