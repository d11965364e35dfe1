"""The home folder of one user: its files, its settings, and the checks of what replicas share."""
