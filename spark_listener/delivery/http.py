"""Sends items of a spool to a service over HTTP: events, segments, manifests.

The sender's thread and the delivery of leftovers use it. Sending twice does no harm, because the service identifies an item by its content.
So an item is sent again whenever its arrival is uncertain. An item that the service refuses permanently is sent once; the service keeps it
as a dead letter.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from headwater.errors import ConfigurationError, InvalidInputError, UnavailableError
from headwater.spark_listener.spool import Item, ItemKind, SpoolFolder

_TIMEOUT = 30.0
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_OBJECT_STORES = {"s3a": "s3", "s3n": "s3"}  # Hadoop's names of schemes with another common name
_RETRIES = Retry(
    total=4, connect=2, read=4, backoff_factor=0.3, status_forcelist=_AGAIN, allowed_methods=["POST", "PUT"], raise_on_status=False
)


class HttpDelivery:
    """Sends to the service at `url`. Short failures are retried with growing pauses (urllib3's `Retry`); the caller handles long ones."""

    def __init__(self, url: str, api_key: str | None, *, retries: bool = True) -> None:
        self.url = url
        self._session = requests.Session()
        adapter = HTTPAdapter(max_retries=_RETRIES if retries else 0)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)
        if api_key:
            self._session.headers["Authorization"] = f"Bearer {api_key}"

    def send(self, item: Item, folder: SpoolFolder) -> None:
        """Deliver one item, and return when the service has acknowledged it.

        Raises:
            UnavailableError: the service does not answer now.
            InvalidInputError: the service refuses this item permanently.
            ConfigurationError: the service refuses the API key.
        """
        self._session.headers.pop("traceparent", None)
        if folder.traceparent:
            self._session.headers["traceparent"] = folder.traceparent
        try:
            if item.kind is ItemKind.EVENT:
                self._post("lineage", item.body).raise_for_status()
            else:
                self._send_capture(item, folder)
        except requests.HTTPError as error:
            raise _refusal(error.response, self.url) from error
        except (requests.RequestException, OSError) as error:
            raise UnavailableError(f"{self.url} does not answer: {error}.") from error

    def close(self) -> None:
        self._session.close()

    def _send_capture(self, item: Item, folder: SpoolFolder) -> None:
        manifest = item.body
        names = {str(segment["name"]): segment for segment in manifest.get("segments", ())}
        self._put_segments(manifest, names.values(), item, folder)
        response = self._post("captures", manifest)
        if response.status_code == requests.codes.conflict:
            # Segments that the service lost with its disk: send the ones that it names again.
            missing = _missing(response) or list(names)
            self._put_segments(manifest, [names[name] for name in missing if name in names], item, folder)
            response = self._post("captures", manifest)
        response.raise_for_status()

    def _put_segments(self, manifest: Mapping[str, Any], segments: Iterable[Mapping[str, Any]], item: Item, folder: SpoolFolder) -> None:
        for segment in segments:
            address = f"{self.url}/api/v1/captures/{quote(str(manifest['capture']))}/segments/{quote(str(segment['name']))}"
            headers = {"X-Headwater-Sha256": str(segment["sha256"]), "Content-Type": "application/octet-stream"}
            with open_segment(item, folder, str(segment["name"])) as file:
                self._session.put(address, data=file, headers=headers, timeout=_TIMEOUT).raise_for_status()

    def _post(self, endpoint: str, document: Mapping[str, Any]) -> requests.Response:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        body = gzip.compress(text.encode("utf-8", "replace"), compresslevel=3)
        return self._session.post(f"{self.url}/api/v1/{endpoint}", data=body, headers=headers, timeout=_TIMEOUT)


def open_segment(item: Item, folder: SpoolFolder, name: str) -> Any:
    """Open a segment for reading: in the spool, or at the cluster's shared location.

    Raises:
        InvalidInputError: the segment is missing, so its capture can never be delivered as a whole.
        UnavailableError: the location cannot be read now.
    """
    capture = str(item.body["capture"])
    try:
        if item.segments is None:
            return (folder.segments / capture / name).open("rb")
        if "://" not in item.segments:
            return (Path(item.segments) / capture / name).open("rb")
        return _shared(item.segments, f"{capture}/{name}")
    except FileNotFoundError as error:
        raise InvalidInputError(f"Segment {capture}/{name} is gone from {item.segments or folder.segments}.") from error


def _shared(location: str, name: str) -> Any:
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem

    scheme, _, rest = location.partition("://")
    try:
        filesystem, root = FileSystem.from_uri(f"{_OBJECT_STORES.get(scheme, scheme)}://{rest}")
        return filesystem.open_input_file(f"{root}/{name}")
    except FileNotFoundError:
        raise
    except (OSError, ArrowException) as error:
        reason = str(error).partition("\n")[0][:300]
        hint = "Name the location as a root in storage.toml of the home, or give this process AWS_ENDPOINT_URL and credentials."
        raise UnavailableError(f"Segments at {location} cannot be read: {reason}.", hint=hint) from error


def _missing(response: requests.Response) -> list[str]:
    try:
        body = response.json()
    except ValueError:
        return []
    found = body.get("missing") if isinstance(body, dict) else None
    return [str(name) for name in found] if isinstance(found, list) else []


def _refusal(response: requests.Response | None, url: str) -> Exception:
    status = response.status_code if response is not None else 0
    if status in (401, 403):
        return ConfigurationError(f"{url} refuses this key ({status}).", hint="Set HEADWATER_API_KEY to a key of that service.")
    if status in _AGAIN or status >= 500 or status == 0:
        return UnavailableError(f"{url} answered {status}.")
    detail = response.text[:500] if response is not None else ""
    return InvalidInputError(f"{url} refuses it ({status}): {detail}")
