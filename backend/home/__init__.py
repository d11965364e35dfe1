"""The home folder of one user: its files, its settings, and checks for replicas."""
