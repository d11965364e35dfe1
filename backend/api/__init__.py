"""The HTTP interface of the service: endpoints, credentials, guards, metrics."""
