"""The graphs of the graph suite: generated lakes, and stores with them."""
