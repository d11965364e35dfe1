"""Bodies of requests, read in processes of their own: one that takes long holds up no other, and ends with its client."""
