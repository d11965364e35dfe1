"""What the graph suite runs over: generated lakes, and stores that hold them."""
