"""Whether what a home keeps is what was written: each file by itself (`files`), the graph and its log (`store`), at any time (`watch`)."""
