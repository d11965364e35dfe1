"""HTTP connections of the service: limits, WebSockets, and the event loop of the application."""
