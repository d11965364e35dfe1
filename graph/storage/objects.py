"""Object stores, by obstore: S3 and compatible stores, Google Cloud Storage, Azure Data Lake.

Reads are conditional on the ETag of an earlier request, so they return the content of that very object. obstore repeats short failures (a
broken connection, 5xx) within the root's seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import MissingExtraError, SourceUnavailableError
from headwater.graph.storage.odd_names import OddNameError, listed
from headwater.graph.storage.protocol import Stat, Store, unavailable
from headwater.graph.storage.settings import RootSettings

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_STATUS = re.compile(r"status code: (\d{3}[A-Za-z ]{0,40})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_PAGE = 1000


class Objects(Store):
    """A bucket of an object store."""

    def __init__(self, settings: RootSettings) -> None:
        try:
            import fsspec  # noqa: F401 - DuckDB reads by it
            import obstore
            import obstore.exceptions
        except ImportError:
            raise MissingExtraError(f"Reading {settings.url}", extra="s3") from None
        self._obstore = obstore
        self._settings = settings
        self._store = _open_store(settings)

    def stat(self, path: str) -> Stat | None:
        try:
            with self._faults_but(FileNotFoundError):
                return _stat(self._obstore.head(self._store, path))
        except FileNotFoundError:
            return None

    def files(self, path: str) -> Iterator[list[tuple[str, Stat]]]:
        try:
            with self._faults_but(FileNotFoundError):
                for page in self._obstore.list(self._store, path or None, chunk_size=_PAGE):
                    yield [(entry["path"], _stat(entry)) for entry in page]
        except FileNotFoundError:
            return

    def files_of_any_name(self, path: str) -> tuple[list[tuple[str, Stat]], list[str]]:
        """Return all files below a folder, and separately the paths that no request can contain.

        If there are such paths, files have no tag.
        """
        try:
            return [entry for page in self.files(path) for entry in page], []
        except OddNameError:
            return listed(self._settings, path)

    def read(self, path: str, stat: Stat, offset: int, length: int) -> bytes:
        options: Any = {"range": (offset, offset + length)}
        if stat.tag:
            options["if_match"] = stat.tag
        with self._faults_but(SourceUnavailableError):
            response = self._obstore.get(self._store, path, options=options)
            if stat.tag and _tag(response.meta["e_tag"]) not in (stat.tag, None):  # a store may ignore the condition
                raise self._replaced()
            content = bytes(response.bytes())
        if len(content) != length:
            raise unavailable(self._settings.url, f"of {length} bytes {len(content)} came", transient=True)
        return content

    def get(self, path: str) -> tuple[bytes, str] | None:
        """Return a small object in its present state, and its tag. None if there is no object."""
        try:
            with self._faults_but(FileNotFoundError):
                response = self._obstore.get(self._store, path)
                content, meta = bytes(response.bytes()), response.meta
        except FileNotFoundError:
            return None
        if len(content) != meta["size"]:
            raise unavailable(self._settings.url, f"of {meta['size']} bytes {len(content)} came", transient=True)
        return content, str(meta["e_tag"])

    def put(self, path: str, data: bytes | Path, mode: Any) -> bool:
        """Put an object, and return whether it was put.

        `mode` None always puts it, "create" only if there is none, and a tag only in place of the object with this tag.
        """
        conflict_errors = (self._obstore.exceptions.AlreadyExistsError, self._obstore.exceptions.PreconditionError)
        try:
            with self._faults_but(*conflict_errors):
                self._obstore.put(self._store, path, data, mode=mode, use_multipart=None if mode is None else False)
        except conflict_errors:
            return False
        return True

    def copy(self, path: str, target: str) -> None:
        """Copy an object within the bucket. The store does it; nothing is transferred."""
        with self._faults_but():
            self._obstore.copy(self._store, path, target)

    def delete(self, path: str) -> None:
        """Delete an object. A missing object is no error."""
        with suppress(FileNotFoundError), self._faults_but(FileNotFoundError):
            self._obstore.delete(self._store, path)

    def delete_all(self, paths: list[str]) -> None:
        """Delete objects, in one request if the store supports it. Missing objects are no error."""
        try:
            self._obstore.delete(self._store, paths)
        except FileNotFoundError:
            for path in paths:
                self.delete(path)
        except Exception as error:  # noqa: BLE001
            raise self._fault(error) from None

    def names(self, path: str, after: str | None) -> list[str]:
        """Return the paths of the objects of a folder that sort after `after`."""
        try:
            with self._faults_but(FileNotFoundError):
                pages = self._obstore.list(self._store, path, offset=after, chunk_size=_PAGE)
                return [entry["path"] for page in pages for entry in page]
        except FileNotFoundError:
            return []

    @contextmanager
    def _faults_but(self, *passing: type[Exception]) -> Iterator[None]:
        """Translate the store's errors, except for the types in `passing`."""
        try:
            yield
        except passing:
            raise
        except Exception as error:  # noqa: BLE001 - obstore's errors have no common base but this
            raise self._fault(error) from None

    def _replaced(self) -> SourceUnavailableError:
        return SourceUnavailableError(f"An object of {self._settings.url} was replaced while it was read.", hint="Ask again.")

    def _fault(self, error: Exception) -> SourceUnavailableError:
        """Return an error without the store's message, which may contain key ids, signatures or addresses."""
        kind, text = type(error).__name__, str(error)
        status, code = _STATUS.search(text), _CODE.search(text)
        if kind == "PreconditionError":
            return self._replaced()
        if isinstance(error, FileNotFoundError):
            return SourceUnavailableError(f"An object of {self._settings.url} is not there any more.")
        if kind == "InvalidPathError":
            return OddNameError(self._settings.url)
        if status:
            reason = f"its store answered {status[1].strip()}{f' ({code[1]})' if code else ''}"
            return unavailable(self._settings.url, reason, transient=status[1].startswith(("5", "429")))
        if "timeout" in text.lower() or "timed out" in text.lower():
            return unavailable(self._settings.url, f"its store did not answer within {self._settings.seconds:g} s", transient=True)
        if "error decoding response body" in text or "ended before" in text or "IncompleteBody" in text:
            return unavailable(self._settings.url, "its store broke an answer off", transient=True)
        if "Connect" in text or "dns error" in text:
            return unavailable(self._settings.url, "its store cannot be connected to", transient=True)
        return unavailable(self._settings.url, f"its store gave an answer that is not understood ({kind})")


def _stat(meta: Mapping[str, Any]) -> Stat:
    return Stat(meta["size"], int(meta["last_modified"].timestamp()) * 1000, _tag(meta["e_tag"]))


def _tag(stated: str | None) -> str | None:
    """Return an ETag in the form of requests. Azure's lists omit its quotes."""
    return stated if stated is None or stated.endswith('"') else f'"{stated}"'


def _open_store(settings: RootSettings) -> ObjectStore:
    from obstore.store import AzureStore, GCSStore, S3Store

    options: dict[str, Any] = dict(settings.options)
    endpoint = str(options.get("endpoint", ""))
    client: Any = {"timeout": f"{settings.seconds:g}s", "connect_timeout": f"{min(settings.seconds, 3):g}s"}
    if endpoint.startswith("http://"):
        client["allow_http"] = True
    retry: Any = {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=settings.seconds),
        "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=2), "base": 2},
    }
    bucket = settings.address.authority
    if options.pop("anonymous", False):
        options["skip_signature"] = True
    if settings.address.scheme == "s3":
        options["virtual_hosted_style_request"] = not options.pop("path_style", bool(endpoint))
        options.setdefault("region", "us-east-1")
        return S3Store(bucket, client_options=client, retry_config=retry, **options)
    if settings.address.scheme == "gs":
        if endpoint:
            options["base_url"] = options.pop("endpoint")
        return GCSStore(bucket, client_options=client, retry_config=retry, **options)
    container, _, host = bucket.partition("@")
    account, _, suffix = host.partition(".")
    if not endpoint and suffix.startswith("dfs."):  # other clouds of Azure have accounts of the same names
        options["endpoint"] = f"https://{account}.blob.{suffix.removeprefix('dfs.')}"
    return AzureStore(container, account_name=account, client_options=client, retry_config=retry, **options)
