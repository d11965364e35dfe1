"""The runner `kubernetes`: the program runs in a Job. The chart renders the Job (`programs.enabled`), and this runner fills in its name.

    [[runner]]
    name = "jobs"
    kind = "kubernetes"
    template = "/etc/headwater/program-job.json"   # the chart mounts it
    start_seconds = 3600

The Job's pod mounts the home of the service, so it must have the same paths. The service's account may create Jobs, and nothing else.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from headwater.backend.rerun.runners.elsewhere import COMMAND, await_end, offer
from headwater.backend.rerun.runners.launch import Launch, StopReason
from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.storage.open_files import read_small_file

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_MOST_BYTES = 1024 * 1024
_SECONDS = 30.0
_CREATED, _EXISTS = 201, 409


class KubernetesJob(BaseModel):
    """The Job of the chart. `account` is the folder with the token and the certificate of the service's account."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    template: Path
    start_seconds: float = Field(3600.0, gt=0)
    account: Path = _ACCOUNT
    _parts: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of_table(cls, table: Mapping[str, Any], home: Path) -> KubernetesJob:  # noqa: ARG003 - the interface of kinds
        runner = cls.model_validate(table)
        runner.job_for("0" * 32, Path("/"))
        return runner

    def job_for(self, identifier: str, folder: Path) -> dict[str, Any]:
        """Return the Job for a program: the chart's Job with a name and one argument, which is a path that Headwater made.

        Raises:
            ConfigurationError: the template is not the Job of the chart.
        """
        try:
            job: dict[str, Any] = json.loads(read_small_file(self.template, _MOST_BYTES))
            (container,) = job["spec"]["template"]["spec"]["containers"]
            job["metadata"]["name"] = f"{job['metadata']['name'][:24]}-{identifier[:32]}"
            container["args"] = [*COMMAND, str(folder)]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{self.template} is not the Job of the chart: {error}.", hint="The chart makes it with programs.enabled."
            ) from error
        return job

    def run(self, launch: Launch, *, stop: StopReason, holding: Collection[int] = ()) -> int:  # noqa: ARG002 - it runs elsewhere
        self._create(self.job_for(launch.id, offer(launch)))
        return await_end(launch, stop=stop, start_seconds=self.start_seconds)

    def _create(self, job: Mapping[str, Any]) -> None:
        """Create a Job. One that exists was created by an earlier attempt."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if host is None:
            raise ConfigurationError("This service does not run in Kubernetes.", hint="Use another runner in runners.toml.")
        try:
            token = read_small_file(self.account / "token", _MOST_BYTES).decode("ascii").strip()
            namespace = read_small_file(self.account / "namespace", _MOST_BYTES).decode("ascii").strip()
            tls = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The account in {self.account} cannot be read: {error}.", hint="Set programs.enabled.") from error
        connection = http.client.HTTPSConnection(host, int(port), timeout=_SECONDS, context=tls)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs", json.dumps(job).encode(), headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise UnavailableError(f"Kubernetes does not answer: {error}.", hint="Try again later.") from error
        finally:
            connection.close()
        if status not in (_CREATED, _EXISTS):
            raise ConfigurationError(f"Kubernetes answered {status} to the Job.", hint="Look at the role of the service's account.")
