"""`headwater serve`: runs the service and the page on one home folder."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from headwater.backend.api.credentials import ADMINISTERING, READING, WRITING
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import note
from headwater.backend.cli.quick_exit import end_at_once
from headwater.backend.home.settings import load_settings
from headwater.backend.process.logs import configure
from headwater.backend.serving import LocalService, link_to

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    home: Home = None,
    host: Annotated[str | None, typer.Option(help="Address to bind to; loopback by default.", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port; 8765 or the next free one by default, 0 any.", show_default=False)] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Graph store: neo4j://host:7687 or sqlite:///path; a file in the home by default.", show_default=False),
    ] = None,
    write_link: Annotated[
        bool, typer.Option("--write-link", help="Print a link to a page that may also declare and start replays.")
    ] = False,
    admin_link: Annotated[
        bool, typer.Option("--admin-link", help="Print a link to a page that may also make keys and read the audit log.")
    ] = False,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = False,
) -> None:
    """Start the service and the page on one home folder, and print the page's link.

    The link works once; then the browser is known, and may read. Runs until Ctrl-C. Where a service of the home runs already,
    prints a new link to it.

    Example: headwater serve --home ./lineage --open
    """
    settings = load_settings(home=home, host=host, port=port, store=store)
    scopes = READING | (WRITING if write_link else frozenset()) | (ADMINISTERING if admin_link else frozenset())
    running = settings.folder.create().service()
    if running is not None:
        story = f"A service of {settings.folder.path} runs already (process {running.pid})."
        _show(link_to(running, settings.key(), scopes), story, open_page)
        return
    configure(settings.log_level, settings.log_format)
    service = LocalService(settings)
    if service.exposed:
        note("others on the network can reach this address, and the key travels unencrypted: put TLS in front.", label="warning")
    _show(service.link(scopes), f"Serving {settings.folder.path} at {service.url}. Stop with Ctrl-C.", open_page)
    service.run()
    end_at_once()  # the clean-up of the interpreter may take seconds on a busy machine


def _show(link: str, story: str, open_page: bool) -> None:
    note(story)
    typer.echo(link)
    if open_page:
        webbrowser.open(link)
