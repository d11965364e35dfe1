"""The web face of the service: endpoints, credentials, guards, metrics."""
