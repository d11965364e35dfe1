"""The intakes of a service: a TOML file that its operator writes.

    [[intake]]
    kind = "kafka"
    servers = "broker.example.com:9092"
    topics = ["openlineage"]

    [[intake]]
    kind = "file"
    path = "/var/log/lineage/events.jsonl"

    [[intake]]
    kind = "s3"
    url = "s3://lake/events"               # below a root of storage.toml

Each table may contain `name` and `tenant`. The module of a kind documents its other options.
"""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

from headwater.backend.access.keys import is_tenant
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.intakes.protocol import Intake, IntakeSettings
from headwater.errors import ConfigurationError

# The module and the class for each kind.
KINDS = {
    "kafka": ("headwater.backend.intakes.kafka", "KafkaIntake"),
    "file": ("headwater.backend.intakes.file", "FileIntake"),
    "s3": ("headwater.backend.intakes.objects", "ObjectsIntake"),
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def read_intakes(path: Path) -> tuple[Intake, ...]:
    """Read the intakes in a file. A missing file means that there are no intakes.

    Raises:
        ConfigurationError: the file is unreadable or has invalid content. The message never includes values from the file.
    """
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.", hint="It says where events are fetched.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ConfigurationError(f"{path} is no TOML.", hint="Each intake is a table: [[intake]], then kind = ….") from None
    tables = stated.get("intake", [])
    if set(stated) - {"intake"} or not isinstance(tables, list):
        raise ConfigurationError(f"{path} states {', '.join(sorted(stated))}.", hint="It has tables [[intake]] alone.")
    found = tuple(_intake(table, f"{path}, intake {number}", number) for number, table in enumerate(tables, start=1))
    names = [intake.name for intake in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"{path} has two intakes of the name {twice}.", hint="Give each a name of its own.")
    return found


def text_of(settings: IntakeSettings, name: str, default: str | None = None) -> str:
    value = settings.options.get(name, default)
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"The intake {settings.name} needs {name}, a text.")
    return value


def require_known(settings: IntakeSettings, known: set[str]) -> None:
    if odd := sorted(settings.options.keys() - known):
        raise ConfigurationError(f"The intake {settings.name} states {odd[0]}.", hint=f"It may state {', '.join(sorted(known))}.")


def _intake(table: object, where: str, number: int) -> Intake:
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str) or table["kind"] not in KINDS:
        raise ConfigurationError(f"{where} has no kind that is known.", hint=f"There are {', '.join(KINDS)}.")
    kind, name, tenant = table["kind"], table.get("name", f"{table['kind']}-{number}"), table.get("tenant", DEFAULT_TENANT)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(f"The name of {where} cannot be used.", hint="Up to 64 letters, digits, dots, hyphens and underscores.")
    if not isinstance(tenant, str) or not is_tenant(tenant):
        raise ConfigurationError(f"The tenant of {where} is no name of a tenant.")
    module, made = KINDS[kind]
    options = {option: value for option, value in table.items() if option not in ("kind", "name", "tenant")}
    intake: Intake = getattr(import_module(module), made)(IntakeSettings(kind, name, tenant, options))
    return intake
