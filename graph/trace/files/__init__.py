"""Records read back from the files that a run read or wrote, as they were."""
