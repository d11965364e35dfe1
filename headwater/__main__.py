"""`python -m headwater` is the `headwater` command."""

from headwater.backend.cli import main

main()
