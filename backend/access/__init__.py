"""The users of a service and their rights: named keys, people who sign in, masked columns, and their administration."""
