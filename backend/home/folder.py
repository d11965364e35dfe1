"""The home folder has the state of one user, and is readable only by that user.

The service, the command line and the launcher share one home. Other users must never be able to read it, because it contains the key and
the identities of records. Two processes that start together must get the same key, and a dead service must never count as running.
Standard library only, because the light install uses it too.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from headwater.errors import ConfigurationError
from headwater.spark_listener.registry import Registry

_DEFAULT = "~/.headwater"


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """The contents of `service.json`: the address of a service, and its process. `born` detects a reused process id."""

    url: str
    pid: int
    started: str
    version: str
    born: str | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """The home folder, and the names of its files. `Home.at(path).create()` creates it."""

    path: Path

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None = None) -> Home:
        """Return the home at `path`, else at `HEADWATER_HOME`, else `~/.headwater`."""
        chosen = os.fspath(path) if path is not None else os.environ.get("HEADWATER_HOME") or _DEFAULT
        return cls(Path(chosen).expanduser().absolute())

    @property
    def key_file(self) -> Path:
        return self.path / "key"

    @property
    def service_file(self) -> Path:
        return self.path / "service.json"

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def log(self) -> Path:
        return self.path / "ingest.db"

    @property
    def graph(self) -> Path:
        return self.path / "graph.db"

    @property
    def associations(self) -> Path:
        return self.path / "associations"

    @property
    def versions(self) -> Path:
        return self.path / "versions"

    @property
    def replays(self) -> Path:
        return self.path / "replays"

    @property
    def reports(self) -> Path:
        return self.path / "reports"

    @property
    def erasures(self) -> Path:
        return self.path / "erasures"

    @property
    def workflows(self) -> Path:
        return self.path / "workflows"

    @property
    def ledger(self) -> Path:
        return self.path / "workflows.db"

    @property
    def registry(self) -> Registry:
        return Registry(self.path)

    @property
    def storage(self) -> Path:
        return self.path / "storage.toml"

    @property
    def named_keys(self) -> Path:
        return self.path / "keys.db"

    @property
    def ended_sessions(self) -> Path:
        return self.path / "sessions.db"

    @property
    def runners(self) -> Path:
        return self.path / "runners.toml"

    @property
    def triggers(self) -> Path:
        return self.path / "triggers.db"

    @property
    def policies(self) -> Path:
        return self.path / "policies.db"

    @property
    def evidence(self) -> Path:
        return self.path / "evidence.db"

    @property
    def evidence_key(self) -> Path:
        return self.path / "evidence.pem"

    @property
    def targets(self) -> Path:
        return self.path / "targets.toml"

    @property
    def masks(self) -> Path:
        return self.path / "masks.toml"

    @property
    def intakes(self) -> Path:
        return self.path / "intakes.toml"

    @property
    def people(self) -> Path:
        return self.path / "people.toml"

    @property
    def audit(self) -> Path:
        return self.path / "audit.jsonl"

    @property
    def projector_lock(self) -> Path:
        return self.path / "projector.lock"

    @property
    def worker_note(self) -> Path:
        return self.path / "worker.note"

    @property
    def trial_note(self) -> Path:
        return self.path / "trial.note"

    def create(self) -> Home:
        """Create the folder and its parts, for this user only. An existing folder keeps its modes.

        Raises:
            ConfigurationError: the folder cannot be created or written.
        """
        try:
            for folder in (self.path, self.spool, self.associations, self.replays):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"The home folder {self.path} cannot be made: {error.strerror}.", hint="Name another with --home or HEADWATER_HOME."
            ) from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise ConfigurationError(f"The home folder {self.path} is not writable.", hint="Name another with --home or HEADWATER_HOME.")
        return self

    def key(self) -> str:
        """Return the API key. The first call creates it, mode 0600. Processes that start together get the same key.

        Raises:
            ConfigurationError: the file does not contain a key.
        """
        if not self.key_file.exists():
            self._write_once(self.key_file, "hw_" + secrets.token_urlsafe(32) + "\n")
        if self.key_file.stat().st_mode & 0o077:
            self.key_file.chmod(0o600)
        return self.read_key(self.key_file)

    @staticmethod
    def read_key(path: Path) -> str:
        """Read the key in a file.

        Raises:
            ConfigurationError: the text is too short for a key, or an HTTP header cannot carry it.
        """
        hint = "Stop the service and run `headwater store repair`; it makes a new key. Who shows the old one needs the new one."
        try:
            key = path.read_bytes().strip().decode("ascii")
        except UnicodeDecodeError:
            raise ConfigurationError(f"The key file {path} is damaged: it holds bytes that are no text.", hint=hint) from None
        except OSError as error:
            raise ConfigurationError(f"The key file {path} cannot be read: {error.strerror}.", hint="Check the disk.") from error
        if len(key) < 16:
            raise ConfigurationError(f"The key in {path} is {len(key)} characters long, 16 are the least.", hint=hint)
        if not key.isprintable() or " " in key:
            raise ConfigurationError(f"The key file {path} is damaged: it holds what no request can carry.", hint=hint)
        return key

    def announce(self, record: ServiceRecord) -> None:
        """Write `service.json`, so that the command line and the launcher find the service."""
        stated = ServiceRecord(**{**asdict(record), "born": _born(record.pid)})
        with NamedTemporaryFile("w", dir=self.path, prefix=".service-", delete=False, encoding="utf-8") as file:
            json.dump(asdict(stated), file)
        os.replace(file.name, self.service_file)

    def retract(self, pid: int) -> None:
        """Remove `service.json` if it belongs to process `pid`."""
        record = self._stated_service()
        if record is not None and record.pid == pid:
            self.service_file.unlink(missing_ok=True)

    def service(self) -> ServiceRecord | None:
        """Return the running service of this home, or None. A `service.json` of a dead process is ignored."""
        record = self._stated_service()
        if record is None or not _alive(record):
            return None
        return record

    def _stated_service(self) -> ServiceRecord | None:
        try:
            return ServiceRecord(**json.loads(self.service_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            # The file is absent, or another version wrote it, with which this version cannot communicate.
            return None

    def _write_once(self, target: Path, text: str) -> None:
        with NamedTemporaryFile("w", dir=self.path, prefix=".key-", delete=False, encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(file.name, target)
        except FileExistsError:
            pass  # another process was faster, and its key is used
        finally:
            os.unlink(file.name)


def _alive(record: ServiceRecord) -> bool:
    try:
        os.kill(record.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # the process is alive, and belongs to another user
    return record.born is None or _born(record.pid) == record.born


def _born(pid: int) -> str | None:
    """Return the start time of a process in clock ticks since boot, if the system reports it (proc(5), field 22 of stat)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]
