"""Which dataset is meant, and which files it consists of now.

A dataset may be called by its id, its name, its path, the end of either from a `/` on, or a table's name (`db.table`). A partition, or a
file of a dataset, is called as the dataset and what follows. The files of a dataset are those that lie at its path now; whether a capture
wrote them as they are is found by their block, never by their name.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError
from headwater.graph.associations import Manifest
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.names import has_symlink, nodes_named, wholes
from headwater.graph.records import FileBlock, KnownDataset, uri_of
from headwater.graph.records.dataset_index import KnownDatasets
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import AsOf
from headwater.graph.trace.session import KnownFile, Session
from headwater.paths import path_of_dataset

_SHOWN = 5
_SEARCHED = 100
_COMPARED = 1_000  # names, on either side of the one that is asked for, that a wrong name is compared with


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a dataset: its files as they were, by path, how they are read, and the records of each where a run wrote it."""

    as_of: AsOf
    files: Sequence[KnownFile]
    shape: Shape
    rows: Mapping[int, int]  # by number of the file


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset: its node id, its name, and where it lies, as a URI. `version`: as it was at an earlier time."""

    id: str
    name: str
    path: str
    version: Version | None = None
    table: str | None = None  # by whose name it was found
    within: str = ""  # the partition or file that is meant, by its path in the dataset; '' for all of it

    @property
    def place(self) -> str:
        """The URI of what is meant: of the dataset, of a partition or of a file."""
        return f"{self.path.rstrip('/')}/{self.within}" if self.within else self.path

    @property
    def asked_id(self) -> str:
        """An id that `find_dataset` takes for the same."""
        _, (namespace, name) = parse_id(self.id)
        return node_id(NodeKind.DATASET, namespace, f"{name.rstrip('/')}/{self.within}") if self.within else self.id

    def has(self, file: KnownFile) -> bool:
        """Whether a file of the dataset is one of what is meant."""
        return not self.within or file.block.path == self.place or file.block.path.startswith(f"{self.place}/")


async def find_dataset(session: Session, graph: GraphStore | None, text: str) -> Dataset:
    """The one dataset that `text` names.

    Raises:
        NotFoundError: none has that name; the message names what is near.
        InvalidQueryError: several have.
    """
    await asyncio.to_thread(session.refresh)
    try:
        return await _find(session, graph, text)
    except NotFoundError:
        for whole, within in wholes(text):
            with suppress(NotFoundError):
                return replace(await _find(session, graph, whole), within=within)
        # What a person may call a dataset in another command, he may call it here.
        named = await nodes_named(graph, session.tenant, text, [NodeKind.DATASET]) if graph is not None else []
        if len(named) != 1:
            raise
        return await _find(session, graph, named[0].id)


async def _find(session: Session, graph: GraphStore | None, text: str) -> Dataset:
    """The dataset that all of a text names. Raises as `find_dataset`."""
    catalog, tenant = session.store.catalog.datasets, session.tenant
    others: list[Dataset] = []
    if graph is not None and not await asyncio.to_thread(_is_known, catalog, tenant, text):
        others = [dataset for dataset in await _in_graph(graph, tenant, text) if not catalog.called(tenant, dataset.id)]
    return await asyncio.to_thread(_one, catalog, tenant, text, others)


def shape_of(session: Session, dataset: Dataset) -> tuple[Shape, bool]:
    """How its files are read, and whether a capture wrote it.

    As the latest capture wrote it that states its columns, else as the latest read it, else as captures without columns state.

    Raises:
        NotFoundError: no capture knows it, and it is a folder without data.
    """
    for shaped, role in product((True, False), ("sink", "source")):
        if (capture := session.store.catalog.datasets.latest(session.tenant, dataset.id, role, shaped=shaped)) is None:
            continue
        manifest = session.capture(capture).manifest
        if role == "sink" and manifest.sink is not None:
            return Shape.of_sink(manifest.sink), True
        for source in manifest.sources if role == "source" else ():
            if node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name) == dataset.id:
                return Shape.of_source(source), False
    listed = session.look.listed(dataset.place)
    if listed == []:
        hint = f"A run that failed leaves none; `headwater lineage {dataset.name}` shows the runs that wrote there."
        raise NotFoundError(f"{dataset.name} has no records: there is no file of data in {shown(dataset.place)}.", hint=hint)
    return Shape.of_names(block.path for block in listed or ()), False


def current_files(session: Session, dataset: Dataset, shape: Shape) -> list[KnownFile]:
    """The files at the dataset's path as they are now, by path; the session then knows which of their rows are left out.

    Raises:
        NotFoundError: there is nothing at the path any more.
        UnsupportedError: it may not be read, or its folder does not tell.
        SourceUnavailableError: its storage does not say.
    """
    # The metadata of a table lie in its own folder. Of other datasets no more is listed than what is meant: roots may end there.
    listed = format_of(shape.format).listed(session.look, dataset.path if format_of(shape.format).is_table else dataset.place, shape)
    if listed is None:
        raise NotFoundError(f"{dataset.name} cannot be read: there is nothing at {shown(dataset.place)} any more.")
    found = []
    for file in listed:
        known = session.known(file.block, dataset.id, shape, file.partition)
        if file.left_out is not None:
            session.left_out[known.number] = file.left_out
        found.append(known)
    return [file for file in found if dataset.has(file)]


def in_own_shapes(session: Session, dataset: Dataset, files: Sequence[KnownFile], paths: Iterable[str]) -> list[KnownFile]:
    """The files, those at the paths in the shape in which they were written, where files of the dataset were written in several.

    A row that somebody names is counted as the file's writer counted it, whatever the latest writer of another file did.
    """
    named = {uri for path in paths for uri in (uri_of(path), uri_of(Path(os.path.abspath(path))))}
    asked = {file.block: file for file in files if file.block.path in named and format_of(file.shape.format).shaped_by_file}
    found = {file.number: file for file in files}
    for block, writer in session.store.catalog.writers(session.tenant, asked).items():
        sink, file = session.capture(writer).manifest.sink, asked[block]
        if sink is None or node_id(NodeKind.DATASET, sink.dataset.namespace, sink.dataset.name) != dataset.id:
            continue
        own = Shape.of_sink(sink)
        if not own.columns and (own.format, own.options) == (file.shape.format, file.shape.options):
            continue  # the shape of the others has the columns, too
        if own != file.shape and own.partitions == file.shape.partitions and format_of(own.format).shaped_by_file:
            found[file.number] = session.files[file.number] = replace(file, shape=own)
    return [found[file.number] for file in files]


def named_files(session: Session, dataset: Dataset, shape: Shape, paths: Iterable[str]) -> list[KnownFile]:
    """Files of a dataset that cannot be listed here, as the last capture that wrote or read each left it.

    Raises:
        NotFoundError: no capture knows one of them.
    """
    found = []
    for path in dict.fromkeys(paths):
        spellings = [uri_of(path), uri_of(Path(os.path.abspath(path)))]
        known = [entry for uri in spellings for entry in session.store.catalog.last_known(session.tenant, uri)]
        block = next((block for block, capture in known if dataset.id in _datasets(session.capture(capture).manifest)), None)
        block = block or _in_table(session, dataset, shape, spellings)
        if block is None:
            raise NotFoundError(f"{path} is no file of {dataset.name} that a capture knows.", hint="Name a file that a run read or wrote.")
        found.append(session.known(block, dataset.id, shape))
    return found


def _in_table(session: Session, dataset: Dataset, shape: Shape, uris: Iterable[str]) -> FileBlock | None:
    """A data file that a table's metadata name though no capture knows it, as it is now."""
    try:
        table = session.table_rows(shape.format, dataset.path)
        uri = next((uri for uri in uris if table is not None and uri in table.files), None)
        return session.look.block(uri) if uri is not None else None
    except (HeadwaterError, OSError):
        return None


def _datasets(manifest: Manifest) -> set[str]:
    """Node ids of what a capture read and wrote."""
    named = [source.dataset for source in manifest.sources] + ([manifest.sink.dataset] if manifest.sink else [])
    return {node_id(NodeKind.DATASET, dataset.namespace, dataset.name) for dataset in named}


def is_captured(session: Session, files: Sequence[KnownFile]) -> bool:
    """Whether a capture wrote or read one of the files as they are."""
    return session.store.catalog.knows(session.tenant, (file.block for file in files))


def shown(uri: str) -> str:
    """A URI as people write it: a path, of a local file."""
    return uri.removeprefix("file:")


def _is_known(catalog: KnownDatasets, tenant: str, text: str) -> bool:
    return bool(catalog.called(tenant, text) or catalog.named_table(tenant, text))


async def _in_graph(graph: GraphStore, tenant: str, text: str) -> list[Dataset]:
    """Datasets that no capture knows: their path is their name."""
    if text.startswith(f"{NodeKind.DATASET}:"):
        return [_of_node(node) for node in await graph.get(tenant, [text])]
    found = [_of_node(node) for node in (await graph.search(tenant, text, kinds=[NodeKind.DATASET], first=_SEARCHED)).nodes]
    if not found and "/" not in text:  # a table's folder mostly bears its name
        nodes = (await graph.search(tenant, text.rpartition(".")[2], kinds=[NodeKind.DATASET], first=_SEARCHED)).nodes
        found = [replace(_of_node(node), table=text) for node in nodes if has_symlink(node, text)]
    return found


def _of_node(node: Node) -> Dataset:
    _, (namespace, name) = parse_id(node.id)
    return Dataset(node.id, name, uri_of(path_of_dataset(namespace, name)))


def _named(dataset: Dataset, text: str) -> bool:
    return text in (dataset.id, dataset.name, dataset.table) or uri_of(text) == dataset.path


def _one(catalog: KnownDatasets, tenant: str, text: str, others: Sequence[Dataset]) -> Dataset:
    """The dataset that a text names, of those that captures know and some others: by all of its name, else by the end of it."""
    wanted = text.rstrip("/") or text
    absolute, end = uri_of(Path(os.path.abspath(wanted))), f"/{wanted}"
    found: list[Dataset] = []
    for name in dict.fromkeys([wanted, text]):  # the address of a bucket ends with a slash
        known = [*map(_known, catalog.called(tenant, name)), *(dataset for dataset in others if _named(dataset, name))]
        found = found or _distinct(known)
    found = found or _distinct(map(_known, catalog.named_table(tenant, wanted)))
    found = found or _distinct([*map(_known, catalog.at(tenant, absolute)), *(dataset for dataset in others if dataset.path == absolute)])
    found = found or _distinct([
        *map(_known, catalog.ending(tenant, end)),
        *(dataset for dataset in others if dataset.name.endswith(end) or dataset.path.endswith(end)),
    ])  # fmt: skip
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(dataset.id for dataset in found[:_SHOWN])
        raise InvalidQueryError(f"{len(found)} datasets are called {text}: {names}.", field="dataset", hint="Say its id.")
    there = sorted({*catalog.names(tenant, wanted, _COMPARED), *(dataset.name for dataset in others)})
    near = difflib.get_close_matches(wanted, there, n=_SHOWN, cutoff=0.3)
    if near:
        hint = f"Near are: {', '.join(near)}."
    elif there:
        rest = max(catalog.count(tenant), len(there)) - _SHOWN
        hint = f"None is near. There are {', '.join(there[:_SHOWN])}{f' and {rest} more' if rest > 0 else ''}."
    else:
        hint = "No records have been captured yet: run a program with `headwater run`."
    raise NotFoundError(f"No dataset is called {text}.", hint=hint)


def _known(dataset: KnownDataset) -> Dataset:
    return Dataset(dataset.id, dataset.name, dataset.path)


def _distinct(datasets: Iterable[Dataset]) -> list[Dataset]:
    return list({dataset.id: dataset for dataset in datasets}.values())


def readable_files(session: Session, files: Sequence[KnownFile]) -> list[KnownFile]:
    """Those of the files whose records can be read; the others are said."""
    good = []
    for file in files:
        if file.problem:
            session.say(file.block.path, file.problem, "missing")
        else:
            good.append(file)
    return good
