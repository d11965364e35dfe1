"""Stores the versions of policies, and the deviations from them with their states.

A deviation keeps its id while rule, source and target stay the same. A check opens new deviations, and marks deviations as fixed if it no
longer finds them. A fixed deviation that is found again is open again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.tables import Connection, Database, Row, Schema, open_database
from headwater.errors import NotFoundError
from headwater.graph.model import NodeKind
from headwater.graph.policies import Deviation, Severity
from headwater.graph.policies.selector import dataset_of

SCHEMA = Schema(
    "policies",
    "policy",
    (
        (
            "CREATE TABLE policy_lock (tenant text PRIMARY KEY, number bigint NOT NULL)",
            # An empty text removes the policy.
            """CREATE TABLE policy_version (tenant text NOT NULL, name text NOT NULL, version integer NOT NULL, document text NOT NULL,
                author text NOT NULL, at double precision NOT NULL, PRIMARY KEY (tenant, name, version))""",
            """CREATE TABLE policy_deviation (tenant text NOT NULL, policy text NOT NULL, id text NOT NULL, details text NOT NULL,
                severity text NOT NULL, opened double precision NOT NULL, seen double precision NOT NULL, fixed double precision,
                reason text, accepted_by text, accepted_until double precision, PRIMARY KEY (tenant, policy, id))""",
            # The jobs on the path of each deviation; for a missing fact, the dataset or the job that lacks it.
            """CREATE TABLE policy_subject (tenant text NOT NULL, subject text NOT NULL, policy text NOT NULL, id text NOT NULL,
                PRIMARY KEY (tenant, subject, policy, id))""",
            "CREATE INDEX policy_subject_by_deviation ON policy_subject (tenant, policy, id)",
        ),
        (
            # The number of each opening, in the order of the tenant's openings, and the last one so far.
            "ALTER TABLE policy_lock ADD COLUMN opening bigint NOT NULL DEFAULT 0",
            "ALTER TABLE policy_deviation ADD COLUMN opening bigint NOT NULL DEFAULT 0",
            "CREATE INDEX policy_deviation_by_opening ON policy_deviation (tenant, opening)",
        ),
    ),
)
_COLUMNS = "policy, id, details, opened, seen, fixed, reason, accepted_by, accepted_until"


_KEPT_SECONDS = 400 * 86_400.0  # for fixed deviations


class FiledState(StrEnum):
    """The state of a deviation. An accepted one is open again when its time is over."""

    OPEN = "open"
    ACCEPTED = "accepted"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A version of a policy, numbered from 1. `at` is in seconds since 1970."""

    name: str
    version: int
    text: str
    author: str
    at: float


@dataclass(frozen=True, slots=True)
class FiledDeviation:
    """A deviation that a check has found. Its id also depends on the policy. Times are in seconds since 1970."""

    policy: str
    id: str
    deviation: Deviation
    state: FiledState
    opened: float
    seen: float
    fixed: float | None
    reason: str | None
    accepted_by: str | None
    accepted_until: float | None


class PolicyStore:
    """The policies and deviations of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def close(self) -> None:
        self._database.close()

    def add_version(self, tenant: str, name: str, text: str, author: str) -> PolicyVersion:
        """Store the next version of a policy. The same text again adds no version."""
        with self._database.transaction() as connection:
            _lock(connection, tenant)
            rows = connection.run(
                "SELECT version, document, author, at FROM policy_version WHERE tenant = :tenant AND name = :name"
                " ORDER BY version DESC LIMIT 1",
                tenant=tenant, name=name,
            )  # fmt: skip
            if rows and rows[0][1] == text:
                return PolicyVersion(name, int(rows[0][0]), text, str(rows[0][2]), float(rows[0][3]))
            made = PolicyVersion(name, int(rows[0][0]) + 1 if rows else 1, text, author, connection.now())
            connection.run(
                "INSERT INTO policy_version VALUES (:tenant, :name, :version, :text, :author, :at)",
                tenant=tenant, name=name, version=made.version, text=text, author=author, at=made.at,
            )  # fmt: skip
            return made

    def remove(self, tenant: str, name: str, author: str) -> None:
        """End a policy. Its versions stay, and its deviations count as fixed.

        Raises:
            NotFoundError: there is no such policy.
        """
        if name not in {each.name for each in self.current(tenant)}:
            raise NotFoundError(f"There is no policy {name!r}.", hint="`headwater policy list` names them.")
        ended = self.add_version(tenant, name, "", author)
        self.file(tenant, ended, (), replaces=True)

    def tenants(self) -> list[str]:
        return [row[0] for row in self._database.ask("SELECT DISTINCT tenant FROM policy_version ORDER BY tenant")]

    def current(self, tenant: str) -> list[PolicyVersion]:
        """Return the current version of each policy, by name."""
        rows = self._database.ask(
            "SELECT v.name, v.version, v.document, v.author, v.at FROM policy_version v WHERE v.tenant = :tenant AND v.document <> ''"
            " AND v.version = (SELECT max(w.version) FROM policy_version w WHERE w.tenant = v.tenant AND w.name = v.name) ORDER BY v.name",
            tenant=tenant,
        )  # fmt: skip
        return [PolicyVersion(str(row[0]), int(row[1]), str(row[2]), str(row[3]), float(row[4])) for row in rows]

    def cursor(self, tenant: str) -> int:
        """Return the log offset up to which runs were checked."""
        rows = self._database.ask("SELECT number FROM policy_lock WHERE tenant = :tenant", tenant=tenant)
        return int(rows[0][0]) if rows else 0

    def advance(self, tenant: str, offset: int) -> None:
        with self._database.transaction() as connection:
            _lock(connection, tenant)
            connection.run(
                "UPDATE policy_lock SET number = :number WHERE tenant = :tenant AND number < :number", number=offset, tenant=tenant
            )

    def go_back(self, tenant: str, offset: int) -> None:
        """Let the runs after an offset be checked again."""
        with self._database.transaction() as connection:
            _lock(connection, tenant)
            connection.run(
                "UPDATE policy_lock SET number = :number WHERE tenant = :tenant AND number > :number", number=offset, tenant=tenant
            )

    def file(
        self, tenant: str, version: PolicyVersion, found: Sequence[Deviation], *, replaces: bool = False, fixed: Collection[str] = ()
    ) -> list[FiledDeviation]:
        """File the deviations from a version of a policy, and return those that are newly open.

        With `replaces`, all other deviations of the policy are fixed; else those with the ids `fixed`. If there is a later version of the
        policy, nothing is filed.
        """
        policy = version.name
        with self._database.transaction() as connection:
            _lock(connection, tenant)
            latest = connection.run(
                "SELECT max(version) FROM policy_version WHERE tenant = :tenant AND name = :policy", tenant=tenant, policy=policy
            )
            if latest[0][0] is not None and int(latest[0][0]) != version.version:
                return []
            now = connection.now()
            rows = connection.run(
                "SELECT id FROM policy_deviation WHERE tenant = :tenant AND policy = :policy AND fixed IS NULL",
                tenant=tenant,
                policy=policy,
            )
            known, present = {str(row[0]) for row in rows}, {filed_id(policy, deviation) for deviation in found}
            opening = _take_numbers(connection, tenant, len(present - known))
            for identifier, deviation in {filed_id(policy, deviation): deviation for deviation in found}.items():
                opening += identifier not in known
                _put(connection, tenant, policy, deviation, now, opening)
            for gone in (known if replaces else known & set(fixed)) - present:
                connection.run(
                    "UPDATE policy_deviation SET fixed = :now WHERE tenant = :tenant AND policy = :policy AND id = :id",
                    now=now, tenant=tenant, policy=policy, id=gone,
                )  # fmt: skip
            _drop_old(connection, tenant, now - _KEPT_SECONDS)
        new = {filed_id(policy, deviation): deviation for deviation in found}
        return [
            FiledDeviation(policy, identifier, deviation, FiledState.OPEN, now, now, None, None, None, None)
            for identifier, deviation in new.items()
            if identifier not in known
        ]

    def deviations(
        self, tenant: str, policy: str | None = None, states: Collection[str] = tuple(FiledState), most: int = 1_000_000
    ) -> list[FiledDeviation]:
        """Return deviations of a policy or of all policies in some states, the latest first."""
        now = self._database.clock()
        wanted = {FiledState(state) for state in states}
        rows = self._database.ask(
            f"SELECT {_COLUMNS} FROM policy_deviation WHERE tenant = :tenant AND (:policy = '' OR policy = :policy) AND ("
            " (:fixed = 1 AND fixed IS NOT NULL) OR (:accepted = 1 AND fixed IS NULL AND accepted_until > :now)"
            " OR (:open = 1 AND fixed IS NULL AND (accepted_until IS NULL OR accepted_until <= :now)))"
            " ORDER BY opened DESC, policy, id LIMIT :most",
            tenant=tenant, policy=policy or "", now=now, most=most, **{state.value: int(state in wanted) for state in FiledState},
        )  # fmt: skip
        return [_filed(row, now) for row in rows]

    def last_opening(self, tenant: str) -> int:
        """Return the number of the latest opening of a deviation, or 0."""
        rows = self._database.ask("SELECT opening FROM policy_lock WHERE tenant = :tenant", tenant=tenant)
        return int(rows[0][0]) if rows else 0

    def opened_after(self, tenant: str, opening: int, most: int) -> list[tuple[int, FiledDeviation]]:
        """Return the deviations whose last opening has a number above `opening`, the first ones first, with this number."""
        rows = self._database.ask(
            f"SELECT opening, {_COLUMNS} FROM policy_deviation WHERE tenant = :tenant AND opening > :opening ORDER BY opening LIMIT :most",
            tenant=tenant, opening=opening, most=most,
        )  # fmt: skip
        now = self._database.clock()
        return [(int(row[0]), _filed(row[1:], now)) for row in rows]

    def open_about(self, tenant: str, policy: str, subjects: Iterable[str]) -> set[str]:
        """Return the ids of deviations that are not fixed, and whose path leads over one of some jobs, or that lack a fact there."""
        found: set[str] = set()
        for subject in subjects:
            rows = self._database.ask(
                "SELECT s.id FROM policy_subject s JOIN policy_deviation d ON d.tenant = s.tenant AND d.policy = s.policy AND d.id = s.id"
                " WHERE s.tenant = :tenant AND s.policy = :policy AND s.subject = :subject AND d.fixed IS NULL",
                tenant=tenant, policy=policy, subject=subject,
            )  # fmt: skip
            found.update(str(row[0]) for row in rows)
        return found

    def accept(self, tenant: str, identifier: str, reason: str, by: str, until: float) -> FiledDeviation:
        """Accept an open deviation for some time.

        Raises:
            NotFoundError: there is no such deviation, or it is fixed.
        """
        with self._database.transaction() as connection:
            _lock(connection, tenant)
            rows = connection.run(
                "UPDATE policy_deviation SET reason = :reason, accepted_by = :by, accepted_until = :until"
                f" WHERE tenant = :tenant AND id = :id AND fixed IS NULL RETURNING {_COLUMNS}",
                reason=reason, by=by, until=until, tenant=tenant, id=identifier,
            )  # fmt: skip
            now = connection.now()
        if not rows:
            raise NotFoundError(f"There is no open deviation {identifier!r}.", hint="`headwater policy report` lists them.")
        return _filed(rows[0], now)


def open_policy_store(settings: HomeSettings) -> PolicyStore:
    """Open the policies of a home or of all replicas. A missing file is created."""
    return PolicyStore(open_database(SCHEMA, settings, settings.folder.policies))


def filed_id(policy: str, deviation: Deviation) -> str:
    return hashlib.sha256(f"{policy}\0{deviation.id}".encode()).hexdigest()[:16]


def _lock(connection: Connection, tenant: str) -> None:
    """Take the lock of a tenant, so that its writers run one after the other."""
    connection.run("INSERT INTO policy_lock (tenant, number) VALUES (:tenant, 0) ON CONFLICT (tenant) DO NOTHING", tenant=tenant)
    connection.run("UPDATE policy_lock SET number = number WHERE tenant = :tenant", tenant=tenant)


def _take_numbers(connection: Connection, tenant: str, count: int) -> int:
    """Take the next numbers of openings, and return the number before them."""
    rows = connection.run(
        "UPDATE policy_lock SET opening = opening + :count WHERE tenant = :tenant RETURNING opening", count=count, tenant=tenant
    )
    return int(rows[0][0]) - count


def _put(connection: Connection, tenant: str, policy: str, deviation: Deviation, now: float, opening: int) -> None:
    details = {
        "rule": deviation.rule, "owner": deviation.owner, "source": deviation.source, "target": deviation.target,
        "message": deviation.message, "path": list(deviation.path), "since": deviation.since, "certain": deviation.certain,
        "severity": deviation.severity.value,
    }  # fmt: skip
    connection.run(
        "INSERT INTO policy_deviation (tenant, policy, id, details, severity, opened, seen, opening)"
        " VALUES (:tenant, :policy, :id, :details, :severity, :now, :now, :opening)"
        " ON CONFLICT (tenant, policy, id) DO UPDATE SET details = excluded.details, severity = excluded.severity, seen = excluded.seen,"
        " opened = CASE WHEN policy_deviation.fixed IS NULL THEN policy_deviation.opened ELSE excluded.opened END,"
        " opening = CASE WHEN policy_deviation.fixed IS NULL THEN policy_deviation.opening ELSE excluded.opening END,"
        " reason = CASE WHEN policy_deviation.fixed IS NULL THEN policy_deviation.reason END,"
        " accepted_by = CASE WHEN policy_deviation.fixed IS NULL THEN policy_deviation.accepted_by END,"
        " accepted_until = CASE WHEN policy_deviation.fixed IS NULL THEN policy_deviation.accepted_until END, fixed = NULL",
        tenant=tenant, policy=policy, id=filed_id(policy, deviation), details=json.dumps(details),
        severity=deviation.severity.value, now=now, opening=opening,
    )  # fmt: skip
    key = {"tenant": tenant, "policy": policy, "id": filed_id(policy, deviation)}
    connection.run("DELETE FROM policy_subject WHERE tenant = :tenant AND policy = :policy AND id = :id", **key)
    subjects = (
        {each for each in deviation.path if each.startswith(f"{NodeKind.JOB}:")} if deviation.source else {dataset_of(deviation.target)}
    )
    for subject in subjects:
        connection.run("INSERT INTO policy_subject VALUES (:tenant, :subject, :policy, :id)", subject=subject, **key)


def _drop_old(connection: Connection, tenant: str, limit: float) -> None:
    """Remove deviations that were fixed before a time."""
    old = "tenant = :tenant AND fixed < :limit"
    connection.run(
        "DELETE FROM policy_subject WHERE tenant = :tenant AND EXISTS (SELECT 1 FROM policy_deviation d WHERE d.tenant = :tenant"
        " AND d.policy = policy_subject.policy AND d.id = policy_subject.id AND d.fixed < :limit)",
        tenant=tenant, limit=limit,
    )  # fmt: skip
    connection.run(f"DELETE FROM policy_deviation WHERE {old}", tenant=tenant, limit=limit)


def _filed(row: Row, now: float) -> FiledDeviation:
    policy, identifier, text, opened, seen, fixed, reason, accepted_by, accepted_until = row
    stated: dict[str, Any] = json.loads(text)
    deviation = Deviation(**{**stated, "severity": Severity(stated["severity"]), "path": tuple(stated["path"])})
    is_accepted = accepted_until is not None and accepted_until > now
    state = FiledState.FIXED if fixed is not None else FiledState.ACCEPTED if is_accepted else FiledState.OPEN
    return FiledDeviation(policy, identifier, deviation, state, opened, seen, fixed, reason, accepted_by, accepted_until)
