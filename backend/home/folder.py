"""The home folder: where one user's state lives, and who may read it.

For the service, the command line and the launcher, which share one home at once. It must never be readable by other users
(the key and record identities are in it), must never hand out two keys to two processes that start together, and must never
name a service as running that has died. Standard library only: the light install uses it too.
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
    """What `service.json` says: where a service answers, and which process it is. `born` tells a process id that was given again."""

    url: str
    pid: int
    started: str
    version: str
    born: str | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """The folder and the names in it (see ARCHITECTURE.md). `Home.at(path).create()` makes it usable."""

    path: Path

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None = None) -> Home:
        """The home at `path`, else at `HEADWATER_HOME`, else `~/.headwater`."""
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
    def replays(self) -> Path:
        return self.path / "replays"

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
        """Make the folder and its parts, for this user alone. An existing folder keeps its modes.

        Raises:
            ConfigurationError: it cannot be made or written.
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
        """The API key, made on the first call, mode 0600. Processes that start together get the same one.

        Raises:
            ConfigurationError: what the file holds is no key.
        """
        if not self.key_file.exists():
            self._write_once(self.key_file, "hw_" + secrets.token_urlsafe(32) + "\n")
        if self.key_file.stat().st_mode & 0o077:
            self.key_file.chmod(0o600)
        return self.read_key(self.key_file)

    @staticmethod
    def read_key(path: Path) -> str:
        """The key that a file holds.

        Raises:
            ConfigurationError: it is too short for a key, or no text that a request could carry.
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
        """Remove `service.json` if it is that of process `pid`."""
        record = self._stated_service()
        if record is not None and record.pid == pid:
            self.service_file.unlink(missing_ok=True)

    def service(self) -> ServiceRecord | None:
        """The running service of this home; None if there is none, or only what a dead one left."""
        record = self._stated_service()
        if record is None or not _alive(record):
            return None
        return record

    def _stated_service(self) -> ServiceRecord | None:
        try:
            return ServiceRecord(**json.loads(self.service_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            # Absent, or left by another version: no service that this one could speak to.
            return None

    def _write_once(self, target: Path, text: str) -> None:
        with NamedTemporaryFile("w", dir=self.path, prefix=".key-", delete=False, encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(file.name, target)
        except FileExistsError:
            pass  # another process was first: its key is the key
        finally:
            os.unlink(file.name)


def _alive(record: ServiceRecord) -> bool:
    try:
        os.kill(record.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, under another user
    return record.born is None or _born(record.pid) == record.born


def _born(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot, where the system tells (proc(5), field 22 of stat)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]
