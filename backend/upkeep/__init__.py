"""What an operator does to a home's store: back it up, restore it, carry its graph to another store, drop old associations."""
