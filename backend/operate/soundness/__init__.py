"""Checks that the files of a home are undamaged: each file (`files`), the graph and its log (`store`), and continuously (`watch`)."""
