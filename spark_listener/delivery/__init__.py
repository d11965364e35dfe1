"""Delivery from the spool to a service: while the program runs, when it ends, or when the next program starts."""
