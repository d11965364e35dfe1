"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.output import Format

Home = Annotated[Path | None, typer.Option("--home", help="Folder of all state; HEADWATER_HOME, else ~/.headwater.", show_default=False)]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")]
