"""Search for the causes of wrong results in the records that the results came from."""
