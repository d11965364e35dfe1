"""Tracing spans, which are made only if tracing is on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Any

import headwater

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Link, Span, SpanContext, Tracer

Answered = Callable[[str, int], None]  # receives a request's route and status

Appended = Callable[[str, Sequence[int], "SpanContext"], None]  # receives a tenant, offsets, and the span that appended them

_REMEMBERED = 10_000  # limit of appends whose spans are stored for the projection
_MOST_LINKS = 64  # limit of links of one projection

_tracer: Tracer | None = None
_appended: OrderedDict[tuple[str, int], SpanContext] = OrderedDict()
_lock = Lock()
_forward: Appended | None = None
_OFF: AbstractContextManager[None] = nullcontext()


def turn_on(provider: TracerProvider) -> None:
    global _tracer  # noqa: PLW0603 - one process has one; handed through all layers, every signature would bear it
    _tracer = provider.get_tracer("headwater", headwater.__version__)


def turn_off() -> None:
    global _tracer  # noqa: PLW0603 - as above
    _tracer = None
    _appended.clear()


def is_on() -> bool:
    return _tracer is not None


def span(name: str, links: Sequence[Link] = (), **attributes: str | int) -> AbstractContextManager[Any]:
    """Return a span around a block. `attributes` are counts and words of Headwater, never a caller's data."""
    return _OFF if _tracer is None else _spanned(_tracer, name, links, {f"headwater.{key}": value for key, value in attributes.items()})


def request_span(method: str, headers: Mapping[str, str]) -> AbstractContextManager[Answered]:
    """Return a span around a request, within the trace of its `traceparent`. Call the yielded function with the answer."""
    return nullcontext(_unheard) if _tracer is None else _requested(_tracer, method, headers)


def begun(name: str, **attributes: int) -> Span | None:
    """Begin a child span, which `ended` ends in any thread. Returns None if tracing is off."""
    named = {f"headwater.{key}": value for key, value in attributes.items()}
    return None if _tracer is None else _tracer.start_span(name, attributes=named)


def ended(current: Span, error: BaseException | None) -> None:
    """End a span that `begun` returned."""
    if error is not None:
        _failed(current, type(error).__name__)
    current.end()


def forward_appended(forward: Appended | None) -> None:
    """Set the function that sends the spans of appended entries to the process that projects them."""
    global _forward  # noqa: PLW0603 - as above
    _forward = forward


def note_appended(tenant: str, offsets: Sequence[int], context: SpanContext) -> None:
    """Store the span that appended entries. The projection links to it later."""
    if _forward is not None:
        _forward(tenant, offsets, context)
        return
    with _lock:
        for offset in offsets:
            _appended[tenant, offset] = context
        while len(_appended) > _REMEMBERED:
            _appended.popitem(last=False)


def links_to(tenant: str, offsets: Iterable[int]) -> list[Link]:
    """Return links to the spans that appended entries in this process."""
    if _tracer is None:
        return []
    from opentelemetry.trace import Link

    with _lock:
        found = [context for offset in offsets if (context := _appended.pop((tenant, offset), None)) is not None]
    return [Link(context) for context in {context.span_id: context for context in found}.values()][:_MOST_LINKS]


@contextmanager
def _spanned(tracer: Tracer, name: str, links: Sequence[Link], attributes: Mapping[str, str | int]) -> Iterator[Any]:
    # An error message may contain a predicate or a value, so the span reports the kind of error only.
    with tracer.start_as_current_span(
        name, links=links, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except BaseException as error:
            _failed(current, type(error).__name__)
            raise


@contextmanager
def _requested(tracer: Tracer, method: str, headers: Mapping[str, str]) -> Iterator[Answered]:
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    sent = {name: value for name in ("traceparent", "tracestate") if (value := headers.get(name)) is not None}
    with tracer.start_as_current_span(
        method, TraceContextTextMapPropagator().extract(sent), kind=SpanKind.SERVER, attributes={"http.request.method": method},
        record_exception=False, set_status_on_exception=False,
    ) as current:  # fmt: skip

        def answered(route: str, status: int) -> None:
            current.update_name(f"{method} {route}")
            current.set_attributes({"http.route": route, "http.response.status_code": status})
            if status >= 500:
                _failed(current, str(status))

        yield answered


def _failed(current: Any, kind: str) -> None:
    from opentelemetry.trace import StatusCode

    current.set_attribute("error.type", kind)
    current.set_status(StatusCode.ERROR)


def _unheard(route: str, status: int) -> None:
    del route, status
