"""The demo: the example pipeline over real data, and the story of a wrong number in its report.

For a stranger who wants to see within minutes what this is for. It plants no fact: everything that it prints comes from the
service's answers. It uses a folder of its own and leaves the user's home alone.
"""
