"""Every error that Headwater raises, in one tree.

    HeadwaterError                     the root: catch this to catch them all
    ├── ConfigurationError             a setting, file or optional dependency is missing or wrong
    │   └── MissingExtraError          … an optional dependency: names the pip command
    ├── InvalidInputError              the caller's input cannot be used; names the field, its value and what to do
    │   ├── InvalidJsonError           … a body that is not JSON as every parser reads it, or is too large or too deep
    │   ├── InvalidEventError          … an OpenLineage event
    │   ├── InvalidCaptureError        … an association manifest or segment
    │   ├── InvalidProvenanceError     … a PROV document: malformed, or it breaks a constraint; says the line and the clause
    │   └── InvalidQueryError          … a predicate, a column, an id, a level
    ├── KeyRequiredError               the caller shows no key, or not this service's
    ├── NotFoundError                  a dataset, run, node or file that is not known; names what is near
    ├── DamagedError                   a file of the home is damaged; names the file and the command that repairs it
    ├── SourceChangedError             a source file changed since the run read it
    │   └── SourceUnavailableError     … or cannot be compared, because its storage does not answer now
    ├── UnsupportedError               an operator or format that is refused, by name
    ├── LargeTraceError                a trace that is too large for one answer; says how to start it as a job
    ├── CaptureUnavailableError        this Spark cannot be captured; says why
    └── UnavailableError               (transient) a store or service that does not answer now

`transient` says whether a retry may work. Every message names the fault, what was there instead, and what to
do; `hint` carries the last part, for user interfaces that show it separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class HeadwaterError(Exception):
    """The root of all errors. `transient` is true if a retry may work. `hint` tells the user what to do.

    `is_refusal` is true if this caller lacks a right, which the audit log records as a refusal.
    """

    transient: bool = False
    is_refusal: bool = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the attributes, because constructors of subclasses may need other arguments than a message."""
        return _restored, (type(self), self.args), self.__dict__


class ConfigurationError(HeadwaterError):
    """A setting, a file or an optional dependency is missing or wrong."""


class MissingExtraError(ConfigurationError):
    """An optional dependency is not installed. The message names the pip command."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency.", hint=f'Install it: pip install "headwater[{extra}]"')
        self.extra = extra


class InvalidInputError(HeadwaterError):
    """The caller's input is invalid. `field` is the path of the invalid part, if there is one."""

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.field = field


class InvalidJsonError(InvalidInputError):
    """A body is not JSON, has a duplicate member or a lone surrogate, or is too large or too deeply nested."""


class InvalidEventError(InvalidInputError):
    """An OpenLineage event violates the specification."""


class InvalidCaptureError(InvalidInputError):
    """An association manifest or segment is damaged or violates its format."""


class InvalidProvenanceError(InvalidInputError):
    """A PROV document is malformed or breaks a constraint. `line` counts from 1 (0: unknown), `clause` is the W3C's."""

    def __init__(self, message: str, *, line: int = 0, clause: str, hint: str | None = None) -> None:
        super().__init__(f"line {line}: {message}" if line else message, field=f"line {line}" if line else None, hint=hint)
        self.line = line
        self.clause = clause


class InvalidQueryError(InvalidInputError):
    """A predicate, column, id or level is invalid."""


class KeyRequiredError(HeadwaterError):
    """The request has no valid key of this service."""


class NotFoundError(HeadwaterError):
    """A dataset, run, node or file is unknown."""


class DamagedError(HeadwaterError):
    """A file of the home is damaged. `path` is the file; the hint names the command that repairs it."""

    def __init__(self, message: str, *, path: Path | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class SourceChangedError(HeadwaterError):
    """A source file changed (length or modification time) after the run read it."""


class SourceUnavailableError(SourceChangedError):
    """The storage of a source does not answer, so changes of the source cannot be detected. A retry may work."""

    def __init__(self, message: str, *, hint: str | None = None, transient: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.transient = transient


class UnsupportedError(HeadwaterError):
    """An operator or a format is not supported. The message names it."""


class LargeTraceError(HeadwaterError):
    """A trace is too large for one answer. The hint explains how to start it as a job."""


class CaptureUnavailableError(HeadwaterError):
    """Capture cannot be installed in this Spark. The program continues without it."""


class UnavailableError(HeadwaterError):
    """A store or a service does not answer now."""

    transient = True


def _restored(kind: type[HeadwaterError], args: tuple[object, ...]) -> HeadwaterError:
    error = kind.__new__(kind)
    error.args = args
    return error
