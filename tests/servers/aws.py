"""AWS as its documentation has it: moto, with the gaps of its Glue closed, in one process.

What is added to moto's Glue (`glue_rules`):

- UpdateTable with a VersionId other than the table's fails with ConcurrentModificationException. A new table has
  version "0"; each update makes the next one. SkipArchive keeps no archived version of the table before the update.
- GetDatabases, GetTables, GetPartitions and GetTableVersions honour MaxResults and NextToken: at most 100 a page, of
  partitions 1000, with opaque tokens that are good for the same request only. GetPartitions honours Segment and
  ExcludeColumnSchema. Items come in the order of their names (values, and newest version first).
- What breaks a length, range or enumeration of the service's model is a ValidationException: 100 partitions in
  BatchCreatePartition, 25 in BatchDeletePartition, 1000 in BatchGetPartition, 100 tables in BatchDeleteTable, a page's
  size.
- An unknown CatalogId is an EntityNotFoundException. `123456789012:NAME`, as of S3 Tables, is a catalog without
  databases.
- Names of databases, tables, functions and columns are folded to lower case.
- AttributesToGet of GetTables, GetTable and GetDatabases leaves only what was asked for.
- Column statistics of tables and partitions are kept. There are no functions and no further catalogs, without an error.

Not closed: expressions of GetPartitions with `not`; OpenTableFormatInput makes no Iceberg metadata; SearchTables.

For tests (`AwsServer` has a method for each; all take and give JSON):

- `GET /headwater/calls`, `POST /headwater/calls/reset`: what was called, in order: service, operation, accessKeyId,
  parameters. Glue, S3 and STS are told by their operations.
- `POST /headwater/throttle {"operation", "times"}`: the next calls fail with ThrottlingException.
- `POST /headwater/fail {"operation", "times", "code", "message", "status", "delay", "after"}`: the next calls wait for
  `delay` seconds and fail if there is a `code`: before anything was done, or `after` it was. `*` is any operation.
- `POST /headwater/on-next {"operation", "first": {OPERATION: PARAMETERS}}`: before the next call of the operation in
  Glue, do something else in Glue.
- `POST /headwater/page-size {"size"}`: smaller pages, so that a few objects make several. `null` ends it.
- `POST /headwater/reset`: forget all of these.
"""

import json
import os
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.servers.moto import MotoServer
from tests.servers.process import DIRECT

REPOSITORY = Path(__file__).parents[2]


class AwsServer(MotoServer):
    """moto with the gaps closed. A stop forgets everything."""

    name: ClassVar[str] = "aws"
    account: ClassVar[str] = "123456789012"

    def command(self) -> Sequence[str]:
        # -P: the modules of its folder must not shadow packages, as `moto` would.
        return [sys.executable, "-P", "-m", "tests.servers.aws_app", str(self.port)]

    def environment(self) -> Mapping[str, str]:
        path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        return {**super().environment(), "PYTHONPATH": path}

    def calls(self, service: str | None = None) -> list[dict[str, Any]]:
        """What was called since the start or the last reset: service, operation, accessKeyId, parameters."""
        found: list[dict[str, Any]] = self._administer("calls")
        return [call for call in found if service in (None, call["service"])]

    def operations(self, service: str | None = None) -> list[str]:
        """The names alone."""
        return [call["operation"] for call in self.calls(service)]

    def forget_calls(self) -> None:
        self._administer("calls/reset", {})

    def throttle(self, operation: str, times: int = 1) -> None:
        """Let the next calls of the operation fail with ThrottlingException."""
        self._administer("throttle", {"operation": operation, "times": times})

    def fail(
        self,
        operation: str,
        code: str | None = None,
        *,
        times: int = 1,
        message: str = "Injected.",
        status: int = 400,
        delay: float = 0,
        after: bool = False,
    ) -> None:
        """Let the next calls of the operation (`*`: of any) wait, and fail if there is a code, once done if `after`."""
        wanted = {"operation": operation, "times": times, "code": code, "message": message, "status": status}
        self._administer("fail", {**wanted, "delay": delay, "after": after})

    def on_next(self, operation: str, first: Mapping[str, Mapping[str, Any]]) -> None:
        """Before the next call of the operation in Glue, make these calls: an update from outside."""
        self._administer("on-next", {"operation": operation, "first": first})

    def set_page_size(self, size: int | None) -> None:
        """Give smaller pages than AWS would; `None` ends it."""
        self._administer("page-size", {"size": size})

    def reset(self) -> None:
        """Forget everything, as after a restart."""
        super().reset()
        self._administer("reset", {})

    def _administer(self, what: str, wanted: object = None) -> Any:
        body = None if wanted is None else json.dumps(wanted).encode()
        with DIRECT.open(urllib.request.Request(f"{self.uri}/headwater/{what}", body), timeout=10) as answer:
            return json.load(answer)
