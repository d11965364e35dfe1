"""Who may use a service, and what of it: named keys, people who sign in, masked columns, and their administration."""
