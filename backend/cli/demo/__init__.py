"""The demo: the example pipeline over real data, and the search for a wrong number in its report.

The demo shows a newcomer the purpose of Headwater within minutes. Everything that it prints comes from answers of the service.
The demo uses its own folder, and never the user's home.
"""
