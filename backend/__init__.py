"""The service: intake, projection, REST, replay, authentication, and the `headwater` command."""
