"""Masked columns. Their values are shown only to callers with the right to see them.

The operator writes rules to `masks.toml` of the home.

    [[mask]]
    columns = ["salary", "*_ssn"]          # names, with * and ?, in any case
    datasets = ["*/hr/*"]                  # names of datasets, with * and ?; all by default

    [[mask]]
    tag = "pii"                            # columns with the tag, and columns that their values flow into

The service passes the rules to the code that answers queries about records. A file that cannot be read masks
everything, because a mistake in it must not reveal masked values.
"""

from __future__ import annotations

import fnmatch
import logging
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import ConfigurationError
from headwater.graph.model import parse_id
from headwater.graph.views import names_above

_log = logging.getLogger("headwater.masks")
_KEYS = {"columns", "datasets", "tag", "tenant"}


@dataclass(frozen=True, slots=True)
class Mask:
    """A rule for masking columns, given by their names (`columns`) or by a `tag`."""

    columns: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ("*",)
    tag: str | None = None
    tenant: str | None = None

    def covers(self, dataset: str) -> bool:
        """Whether the rule applies to a dataset. Patterns match its id, its name, or namespace and name."""
        parts = parse_id(dataset)[1]
        names = [text.casefold() for text in (dataset, parts[-1], "/".join(parts))]
        return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in self.datasets)

    def names(self, columns: Iterable[str]) -> set[str]:
        """Return the masked columns among a dataset's columns.

        A rule for a field also masks the column that contains it, and a rule for a column also masks its fields.
        """
        return {column for column in columns if any(_is_about(pattern, column) for pattern in self.columns)}


EVERYTHING = Mask(columns=("*",))


def read_masks(path: Path) -> tuple[Mask, ...]:
    """Read the masking rules from a file. A missing file means that there are no rules.

    Raises:
        ConfigurationError: the file cannot be read, or has invalid content.
    """
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.", hint="It says which columns are masked.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} is no TOML: {error}.", hint="Each rule is a table: [[mask]], then columns = […] or tag = …."
        ) from None
    if not stated:  # an empty file was probably truncated
        raise ConfigurationError(f"{path} states no rule.", hint="Remove the file if nothing is to be masked.")
    rules = stated.get("mask", [])
    if set(stated) - {"mask"} or not isinstance(rules, list):
        raise ConfigurationError(f"{path} states {', '.join(sorted(stated))}.", hint="It has tables [[mask]] alone.")
    return tuple(_mask(rule, f"{path}, rule {number}") for number, rule in enumerate(rules, start=1))


class Masks:
    """The rules of one home. A changed file is read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._rules: tuple[Mask, ...] = ()

    def of(self, tenant: str) -> tuple[Mask, ...]:
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        except FileNotFoundError:
            seen = None
        except OSError:
            return (EVERYTHING,)
        if seen != self._seen:
            self._rules = self._read()
            self._seen = seen
        return tuple(rule for rule in self._rules if rule.tenant in (None, tenant))

    def _read(self) -> tuple[Mask, ...]:
        try:
            return read_masks(self._path)
        except ConfigurationError as error:
            _log.error("all columns are masked until this is mended: %s", error)
            return (EVERYTHING,)


def _is_about(pattern: str, column: str) -> bool:
    above = names_above(column)
    # A pattern for fields of any column (`*.zip`) matches the names of fields only.
    of_column = [part for part in names_above(pattern)[:-1] if part.strip("*?.")]
    return any(fnmatch.fnmatchcase(name, pattern) for name in above) or any(fnmatch.fnmatchcase(above[-1], part) for part in of_column)


def _mask(rule: object, where: str) -> Mask:
    if not isinstance(rule, dict):
        raise ConfigurationError(f"{where} is no table.", hint="Write [[mask]], then columns = […] or tag = ….")
    if odd := sorted(rule.keys() - _KEYS):
        raise ConfigurationError(f"{where} states {odd[0]}.", hint=f"It may state {', '.join(sorted(_KEYS))}.")
    if ("columns" in rule) == ("tag" in rule):
        raise ConfigurationError(f"{where} states {'both' if 'tag' in rule else 'neither'} columns and tag.", hint="State one of them.")
    return Mask(
        columns=_patterns(rule.get("columns", []), f"columns of {where}"),
        datasets=_patterns(rule.get("datasets", ["*"]), f"datasets of {where}"),
        tag=_text(rule.get("tag"), f"tag of {where}"),
        tenant=_text(rule.get("tenant"), f"tenant of {where}"),
    )


def _patterns(stated: Any, what: str) -> tuple[str, ...]:
    if not isinstance(stated, list) or not all(isinstance(one, str) and one for one in stated):
        raise ConfigurationError(f"{what} is no list of names.", hint='Write it as ["salary", "*_ssn"].')
    return tuple(one.casefold() for one in stated)


def _text(stated: Any, what: str) -> str | None:
    if stated is not None and (not isinstance(stated, str) or not stated):
        raise ConfigurationError(f"{what} is no text.")
    return stated
