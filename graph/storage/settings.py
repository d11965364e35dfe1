"""The readable roots of storage and their settings, from a TOML file of the service.

    [[root]]
    url = "s3://lake/warehouse"             # s3a: and s3: URIs below it
    endpoint = "http://127.0.0.1:9000"
    region = "eu-central-1"
    access_key_id = "…"
    secret_access_key = "…"

A database is a root too, whose rows are read by key (url = "postgres://db.example:5432/shop"). So are the brokers of Kafka (url =
"kafka://broker.example:9092"). They have user and password, and an `endpoint` if the service reaches them by another host and port than
programs do.

For missing settings, the client of the storage uses the service's environment (AWS_…, HADOOP_CONF_DIR, …).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.graph.storage.addresses import SCHEMES, Address, address_of
from headwater.graph.storage.key_places import SCHEMES as KEYED
from headwater.graph.storage.key_places import is_below, is_keyed, keyed_address, parts_of

# The settings of a root of each scheme, in addition to its url and the seconds for one request.
OPTIONS = {
    "s3": {"endpoint", "region", "access_key_id", "secret_access_key", "session_token", "path_style", "anonymous"},
    "gs": {"endpoint", "service_account", "anonymous"},
    "abfss": {"endpoint", "account_key", "client_id", "client_secret", "tenant_id", "sas_token"},
    "hdfs": {"conf", "kerberos_principal", "kerberos_keytab"},
    "webhdfs": {"endpoint", "datanodes", "user", "password", "token"},
    "swebhdfs": {"endpoint", "datanodes", "user", "password", "token", "ca"},
    "postgres": {"endpoint", "user", "password", "ssl"},
    "kafka": {"endpoint", "user", "password", "protocol", "mechanism", "ca"},
}
_SECONDS = 8.0
_SERVICES = "postgres://host:port/database or kafka://host:port"
_NODE = re.compile(r"[A-Za-z0-9.*_-]{1,253}:[0-9]{1,5}")
_HOST_AND_PORT = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class RootSettings:
    """The settings of one root. `options` contain secrets, and are never shown."""

    address: Address
    seconds: float = _SECONDS
    options: Mapping[str, str | bool] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        """Return the URL of the root for users."""
        return f"{self.address.scheme}://{self.address.authority}/{self.address.path}".rstrip("/")

    def covers(self, address: Address) -> bool:
        """Return whether an address is the root or is below it."""
        own_address = self.address
        if own_address.scheme in KEYED:
            return is_below(address, own_address)
        if (own_address.scheme, own_address.authority) != (address.scheme, address.authority):
            return False
        return not own_address.path or address.path == own_address.path or address.path.startswith(f"{own_address.path}/")


def read_roots(path: Path) -> tuple[RootSettings, ...]:
    """Read the roots in a file.

    Raises:
        ConfigurationError: the file cannot be read, or has an unknown setting. The message contains no value of the file.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.", hint="It is what HEADWATER_STORAGE names.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ConfigurationError(f"{path} is no TOML.", hint="Each root is a table: [[root]], then url = ….") from None
    roots = document.get("root", [])
    if set(document) - {"root"} or not isinstance(roots, list):
        raise ConfigurationError(f"{path} states {', '.join(sorted(document))}.", hint="It has tables [[root]] alone.")
    return tuple(_root(entry, f"{path}, root {number}") for number, entry in enumerate(roots, start=1))


def _root(entry: object, where: str) -> RootSettings:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        raise ConfigurationError(f"{where} has no url.", hint='A root begins with url = "s3://bucket/folder".')
    try:
        address = keyed_address(entry["url"]) if is_keyed(entry["url"]) else address_of(entry["url"])
    except UnsupportedError:
        raise ConfigurationError(
            f"The url of {where} cannot be used.",
            hint=f"It reads scheme://bucket/folder or {_SERVICES}; schemes are {', '.join(sorted({*SCHEMES, *KEYED}))}.",
        ) from None
    options = {name: value for name, value in entry.items() if name not in {"url", "seconds"}}
    if unknown_options := sorted(options.keys() - OPTIONS[address.scheme]):
        raise ConfigurationError(
            f"{where} states {unknown_options[0]}, which {address.scheme} has not.",
            hint=f"It may state {', '.join(sorted(OPTIONS[address.scheme]))}.",
        )
    if unknown_options := sorted(name for name, value in options.items() if not isinstance(value, str | bool)):
        raise ConfigurationError(f"{unknown_options[0]} of {where} is neither a text nor true or false.")
    if address.scheme in KEYED:
        _check_service(address, options, where)
    if address.scheme in ("webhdfs", "swebhdfs"):
        _check_nodes(options, where)
    seconds = entry.get("seconds", _SECONDS)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= 600:
        raise ConfigurationError(f"seconds of {where} is no number of seconds up to 600.")
    return RootSettings(address, float(seconds), options)


def _check_nodes(options: Mapping[str, str | bool], where: str) -> None:
    nodes = [str(options[name]) for name in ("endpoint",) if name in options]
    nodes += [part.strip() for part in str(options.get("datanodes", "")).split(",") if part.strip()]
    if invalid_nodes := [node for node in nodes if not _NODE.fullmatch(node)]:
        raise ConfigurationError(
            f"{invalid_nodes[0]!r} in {where} is no host and port.",
            hint='It reads datanodes = "dn1.example:9864, *.data.example:9864", endpoint = "nn:9870".',
        )
    if "*" in str(options.get("endpoint", "")):
        raise ConfigurationError(f"The endpoint of {where} is no one host.", hint='It reads endpoint = "nn.example:9870".')


def _check_service(address: Address, options: Mapping[str, str | bool], where: str) -> None:
    if len(parts_of(address)) != (0 if address.scheme == "kafka" else 1):
        raise ConfigurationError(f"The url of {where} is no database and no broker.", hint=f"It reads {_SERVICES}.")
    if not _HOST_AND_PORT.fullmatch(str(options.get("endpoint", "host:1"))):
        raise ConfigurationError(f"The endpoint of {where} is no host and port.", hint='It reads endpoint = "host:5432".')
