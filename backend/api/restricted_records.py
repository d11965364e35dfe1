"""Records for callers who may see some namespaces only.

A query is answered completely, and the answer is then reduced. The caller sees records of datasets in permitted namespaces, if the
namespace of their file (scheme and authority; `file` on this machine) is permitted, too. A foreign file under a permitted name shows
nothing. The path stops at hidden nodes. Texts of an answer may name any files, runs and columns, so they
are replaced. Predicates are evaluated only on files that the caller may see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from headwater.backend.api.errors import ForbiddenError
from headwater.backend.process.child_errors import QuestionEndedError, TooManyQuestionsError
from headwater.errors import (
    HeadwaterError,
    InvalidQueryError,
    LargeTraceError,
    NotFoundError,
    SourceUnavailableError,
    UnavailableError,
    UnsupportedError,
)
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.storage.addresses import other_spellings
from headwater.graph.trace.answer import Grain, Hop, Incomplete, Origin, ReachedDataset, RowPage, TraceAnswer, TracedRecord, TraceRequest
from headwater.graph.trace.questions import RowsRequest
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff

_ELSEWHERE = "Records lie in places that this key may not see."
_TOLD_LESS = "What is said of it names things that a key restricted to namespaces is not told."
_UNREADABLE = "Something that this needs cannot be read. What it is, a key restricted to namespaces is not told."
# Errors about the query itself, or about the load of the service. All other errors may name hidden files.
_OF_THE_QUESTION = (
    InvalidQueryError, NotFoundError, ForbiddenError, LargeTraceError, UnavailableError, QuestionEndedError, TooManyQuestionsError,
)  # fmt: skip
T = TypeVar("T")


class _RecordQuestions(Protocol):
    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer: ...

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage: ...


class RestrictedQuestions:
    """Reduces the answers of `questions` to `seen`, the graph of the nodes whose records the caller may see."""

    def __init__(self, questions: _RecordQuestions, seen: RestrictedStore) -> None:
        self._questions = questions
        self._seen = seen

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        """Return rows of a dataset (see `Questions`).

        Raises:
            NotFoundError: the dataset is unknown, or hidden.
            ForbiddenError: its files are in a namespace that the caller may not read.
        """
        dataset = await self._known(tenant, request.dataset)
        await self._check_files(tenant, dataset)
        page = await _answer_to(self._questions.rows(tenant, replace(request, dataset=dataset, origins=True)))
        self._check(dataset, page)  # the files of the dataset may have changed since the first check
        note = page.note and (page.note if page.rows and page.has_record_lineage is False and ": " not in page.note else _TOLD_LESS)
        return replace(page, note=note, origins=())

    async def diff(self, tenant: str, request: DiffRequest) -> VersionDiff:
        """Refuse the query, because a version may have files anywhere."""
        del tenant, request
        raise ForbiddenError("Earlier versions are not open to keys restricted to namespaces.", hint="Ask for a key that is not.")

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Answer a trace (see `Questions`). Raises as `rows` does."""
        if request.as_of is not None:
            raise ForbiddenError("Earlier versions are not open to keys restricted to namespaces.", hint="Leave `asOf` out.")
        dataset = await self._known(tenant, request.dataset)
        to = await self._known(tenant, request.to) if request.to is not None else None
        if request.where is not None:
            await self._check_files(tenant, dataset)
        answer = await _answer_to(self._questions.trace(tenant, replace(request, dataset=dataset, to=to, origins=True)))
        return await self._left(answer, dataset, forward=request.forward)

    async def _known(self, tenant: str, text: str) -> str:
        """Check that a text is the id of a visible dataset. Short names are refused, because they could reveal other namespaces."""
        found = await self._seen.get(tenant, [text]) if text.startswith("dataset:") and "@" not in text else []
        if not found:
            raise NotFoundError(
                f"Nothing is known of {text[:300]}.", hint="A key that is restricted to namespaces names a dataset by its id: dataset:…:…"
            )
        return found[0].id

    async def _check_files(self, tenant: str, dataset: str) -> None:
        self._check(dataset, await _answer_to(self._questions.rows(tenant, RowsRequest(dataset, first=0, origins=True))))

    def _check(self, dataset: str, page: RowPage) -> None:
        """Check that all files of a page are in permitted namespaces. Rows without a file are refused."""
        holds_something = bool(page.columns or page.rows or page.total)
        if page.dataset != dataset or not self._lie_here(page.origins) or (holds_something and not page.origins):
            raise ForbiddenError(_ELSEWHERE, hint="Ask for a key that may read the namespace of the files, too.")

    def _lie_here(self, origins: Iterable[Origin]) -> bool:
        return all(self._lies_here(uri) for origin in origins for uri in (origin.file, origin.lies))

    def _lies_here(self, uri: str) -> bool:
        return any(self._seen.visible.has_namespace(_namespace(one)) for one in (uri, *other_spellings(uri)))

    async def _left(self, answer: TraceAnswer, dataset: str, *, forward: bool) -> TraceAnswer:
        foreign = {origin.file for origin in answer.origins if not self._lie_here([origin])}
        datasets = {record.dataset for record in (*answer.selected, *answer.records)}
        hops = answer.path
        named = datasets | {each for hop in hops for each in (*_makers(hop), *hop.inputs)} | {one.dataset for one in answer.reached}
        known = await self._seen.visible.of(named)
        path = [_shown(hop, known) for hop in hops if _makers(hop) <= known]
        reached = _reached(path, dataset, forward=forward)

        def is_left(record: TracedRecord) -> bool:
            is_here = record.file is None or (record.file not in foreign and self._lies_here(record.file))
            return record.dataset in known and record.dataset in reached and is_here

        records = [record for record in answer.records if is_left(record)]
        selected = [record for record in answer.selected if is_left(record)]
        kept_path = [hop for hop in path if (set(hop.inputs) if forward else {hop.output}) & reached]
        is_hidden = len(records) < len(answer.records) or len(selected) < len(answer.selected) or len(kept_path) < len(hops)
        shown = {one.dataset for one in answer.reached} & known & reached
        is_hidden = is_hidden or len(shown) < len(answer.reached)
        is_hidden = is_hidden or any(len(hop.inputs) < len(other.inputs) for hop in path for other in hops if _is_same(hop, other))
        incomplete = [Incomplete("trace", _TOLD_LESS, effect) for effect in dict.fromkeys(one.effect for one in answer.incomplete)]
        if is_hidden:
            incomplete.append(Incomplete("trace", _ELSEWHERE, "missing"))
        if answer.total > len(answer.records):
            incomplete.append(Incomplete("trace", "More records were traced than are told at once.", "missing"))
        datasets_left = [_show_reached(one, records, is_whole=not incomplete) for one in answer.reached if one.dataset in shown]
        return replace(
            answer, exact=answer.exact and not incomplete, records=records, selected=selected, path=kept_path, incomplete=incomplete,
            total=len(records), found_again=(), storage_requests=0, storage_bytes=0, as_of=None, origins=(),
            notes=[_TOLD_LESS] if answer.notes else [], reached=datasets_left,
        )  # fmt: skip


async def _answer_to(question: Awaitable[T]) -> T:
    """Return an answer. Errors that may name hidden nodes are replaced by an error without names."""
    try:
        return await question
    except _OF_THE_QUESTION:
        raise
    except HeadwaterError as error:
        if error.transient:
            raise SourceUnavailableError(_UNREADABLE, hint="Ask again.") from None
        raise UnsupportedError(_UNREADABLE, hint="Ask whoever may read all namespaces: such a key is told.") from None


def _show_reached(one: ReachedDataset, records: Sequence[TracedRecord], *, is_whole: bool) -> ReachedDataset:
    """Return a dataset with the numbers of shown records, and without the texts, because they name hidden things."""
    former = [record.is_former for record in records if record.dataset == one.dataset and record.grain is Grain.RECORD]
    is_complete = one.complete and is_whole
    return replace(
        one, records=len(former) - sum(former), former=sum(former), complete=is_complete, exact=one.exact and is_complete,
        reasons=() if one.exact and is_complete else (_TOLD_LESS,),
    )  # fmt: skip


def _is_same(one: Hop, other: Hop) -> bool:
    return (one.run, one.output, one.job) == (other.run, other.output, other.job)


def _shown(hop: Hop, known: set[str]) -> Hop:
    """Return a hop without the texts of the plan, because they name columns of all inputs."""
    return replace(hop, inputs=[each for each in hop.inputs if each in known], operations=(), expressions=())


def _reached(path: Sequence[Hop], dataset: str, *, forward: bool) -> set[str]:
    """Return the datasets that are reachable from a dataset along the remaining hops of a path."""
    reached, waiting = {dataset}, [dataset]
    step: Callable[[Hop], tuple[Iterable[str], Iterable[str]]] = (
        (lambda hop: (hop.inputs, [hop.output])) if forward else (lambda hop: ([hop.output], hop.inputs))
    )
    while waiting:
        near = waiting.pop()
        for hop in path:
            here, there = step(hop)
            if near in here:
                fresh = [each for each in there if each not in reached]
                reached.update(fresh)
                waiting += fresh
    return reached


def _makers(hop: Hop) -> set[str]:
    """Return the nodes of a hop: its job, its output, and its run if known."""
    return {hop.job, hop.output} | ({hop.run} if hop.run else set())


def _namespace(uri: str) -> str:
    """Return the namespace that producers use for files at a URI."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator and rest.partition("/")[0] else "file"
