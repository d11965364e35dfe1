"""The `headwater` command. Commands load when they are called, so that `run` needs no more than the light install."""

from headwater.backend.cli.main import main

__all__ = ["main"]
