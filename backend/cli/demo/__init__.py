"""The demo: the example pipeline over real data, and the story of a wrong number in its report.

For a newcomer who wants to see the purpose of Headwater within minutes. No fact is planted: everything printed comes from the service's
answers. The demo uses its own folder, and leaves the user's home alone.
"""
