"""Translates the configuration of a further OpenLineage backend to the form of openlineage-python's client.

Spark's configuration has the names of OpenLineage's Java client and the properties of Kafka's Java client. A property without a meaning
outside of Java is left out, and the log names it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_log = logging.getLogger("headwater.delivery")

# Names of the Java client by those of the Python client.
_PYTHON_NAMES = {
    "headers": "custom_headers", "location": "log_file_path", "topicName": "topic", "timeoutInMillis": "timeout",
    "continueOnFailure": "continue_on_failure", "continueOnSuccess": "continue_on_success",
}  # fmt: skip
_TRUTHS = ("continue_on_failure", "continue_on_success", "append", "verify", "flush")
_LOGIN = re.compile(r"(username|password)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")


def transport_config(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the user's configuration. None if nothing is set, or OPENLINEAGE_DISABLED is.

    It comes from `spark.openlineage.transport.*` (`conf`, without the prefix), else from OPENLINEAGE_URL. {} stands for openlineage.yml.
    """
    if environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return None
    given = {key.removeprefix("transport."): value for key, value in conf.items() if key.startswith("transport.")}
    if given.get("type"):
        return _from_spark(given)
    if _has_file(environ) or any(name.startswith("OPENLINEAGE__TRANSPORT") for name in environ):
        return {}
    if environ.get("OPENLINEAGE_URL"):
        key = environ.get("OPENLINEAGE_API_KEY")
        config = {"type": "http", "url": environ["OPENLINEAGE_URL"], "endpoint": environ.get("OPENLINEAGE_ENDPOINT", "api/v1/lineage")}
        return {**config, "auth": {"type": "api_key", "apiKey": key}} if key else config
    return None


def _from_spark(given: Mapping[str, str]) -> dict[str, Any]:
    """Nest properties like `auth.type`, `properties.bootstrap.servers` and `transports.a.type` as in the Python client."""
    config: dict[str, Any] = {}
    for key, text in given.items():
        head, *rest = key.split(".")
        if head == "properties":
            config.setdefault("config", {})[".".join(rest)] = text
        elif head == "transports" and len(rest) > 1:
            config.setdefault("transports", {}).setdefault(rest[0], {})[".".join(rest[1:])] = text
        elif rest:
            config.setdefault(_PYTHON_NAMES.get(head, head), {})[".".join(rest)] = text
        else:
            name = _PYTHON_NAMES.get(key, key)
            config[name] = _value(name, text)
    if config.get("type") == "file":
        config["append"] = True  # like the Java client: one line for each event
    if config.get("type") == "kafka" and "config" in config:
        config["config"] = _of_kafka(config["config"])
    if "transports" in config:
        config["transports"] = {name: _from_spark(part) for name, part in config["transports"].items()}
    return config


def _value(name: str, text: str) -> Any:
    if name in _TRUTHS:
        return text.strip().lower() == "true"
    if name == "timeout":
        try:
            return float(text) / 1000
        except ValueError:
            _log.warning("spark.openlineage.transport.timeoutInMillis is no number; five seconds are taken.")
            return 5.0
    return text


def _of_kafka(properties: Mapping[str, str]) -> dict[str, str]:
    """Return Kafka's Java properties in the names of its C library: no serializers, and a login in two properties."""
    known = {name: value for name, value in properties.items() if not name.endswith(".serializer")}
    login = dict(_LOGIN.findall(known.pop("sasl.jaas.config", "")))
    for name, value in login.items():
        known.setdefault(f"sasl.{name}", re.sub(r"\\(.)", r"\1", value))
    of_java = [name for name in known if name.startswith(("ssl.truststore.", "ssl.keystore.type")) or name == "client.dns.lookup"]
    for name in of_java:
        del known[name]
    if of_java:
        _log.warning("Properties of Kafka that only its Java client knows are ignored: %s.", ", ".join(sorted(of_java)))
    return known


def _has_file(environ: Mapping[str, str]) -> bool:
    named = environ.get("OPENLINEAGE_CONFIG")
    places = [Path(named)] if named else [Path("openlineage.yml"), Path("~/.openlineage/openlineage.yml").expanduser()]
    return any(place.is_file() for place in places)
