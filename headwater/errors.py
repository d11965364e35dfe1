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
    """The root of the tree. `transient`: a retry may work. `hint` says what to do.

    `is_refusal`: others may have the answer, but not this caller. The audit log says so.

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
        """Pickle by what the error holds: its constructor may ask for more than its message."""
        return _restored, (type(self), self.args), self.__dict__


class ConfigurationError(HeadwaterError):
    """A setting, a file or an optional dependency is missing or wrong."""


class MissingExtraError(ConfigurationError):
    """An optional dependency is not installed; the message names the pip command."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency.", hint=f'Install it: pip install "headwater[{extra}]"')
        self.extra = extra


class InvalidInputError(HeadwaterError):
    """The caller's input cannot be used. `field` is the path of the offending part, if there is one."""

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.field = field


class InvalidJsonError(InvalidInputError):
    """A body that is not JSON, names a member twice, holds half a character, or is too large or too deep to read."""


class InvalidEventError(InvalidInputError):
    """An OpenLineage event that breaks the specification."""


class InvalidCaptureError(InvalidInputError):
    """An association manifest or segment that is damaged or does not fit its format."""


class InvalidProvenanceError(InvalidInputError):
    """A PROV document that is malformed or breaks a constraint. `line` counts from 1 (0: the notation has none), `clause` is the W3C's."""

    def __init__(self, message: str, *, line: int = 0, clause: str, hint: str | None = None) -> None:
        super().__init__(f"line {line}: {message}" if line else message, field=f"line {line}" if line else None, hint=hint)
        self.line = line
        self.clause = clause


class InvalidQueryError(InvalidInputError):
    """A predicate, column, id or level that cannot be answered."""


class KeyRequiredError(HeadwaterError):
    """The caller shows no key, or not this service's, and asks for what needs it."""


class NotFoundError(HeadwaterError):
    """A dataset, run, node or file that is not known here."""


class DamagedError(HeadwaterError):
    """A file of the home is not what was written there. `path` is the file; the hint names the command that repairs it."""

    def __init__(self, message: str, *, path: Path | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class SourceChangedError(HeadwaterError):
    """A source file is no longer what it was when the run read it (length or modification time)."""


class SourceUnavailableError(SourceChangedError):
    """A source that its storage does not return now, so that it cannot be checked for changes. `transient`: a retry may work."""

    def __init__(self, message: str, *, hint: str | None = None, transient: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.transient = transient


class UnsupportedError(HeadwaterError):
    """An operator or a format that is refused. The message names it."""


class LargeTraceError(HeadwaterError):
    """A trace that is too large for one answer. The hint says how to start it as a job."""


class CaptureUnavailableError(HeadwaterError):
    """Capture cannot be installed in this Spark. The program runs on without it."""


class UnavailableError(HeadwaterError):
    """A store or a service that does not answer now."""

    transient = True


def _restored(kind: type[HeadwaterError], args: tuple[object, ...]) -> HeadwaterError:
    error = kind.__new__(kind)
    error.args = args
    return error
