"""Calls of Glue: one client, opened when it is first needed, the catalog id on every call, errors in our words."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from headwater.catalogs.aws import Access, unreachable
from headwater.catalogs.metastores.glue.errors import CATALOG, Subject, translated

PAGE_SIZES = {"get_databases": 100, "get_tables": 100, "get_partitions": 1000}
"""The largest pages that Glue answers."""


class Calls:
    """What all operations of a catalog go through."""

    def __init__(self, name: str, access: Access) -> None:
        self.name = name
        self._access = access
        self._always = {} if access.catalog_id is None else {"CatalogId": access.catalog_id}
        self._opening = threading.Lock()
        self._client: Any = None

    @property
    def where(self) -> str:
        """Which Glue it is, as it stands in messages."""
        meta = self._open().meta
        return f"AWS Glue in {meta.region_name} ({meta.endpoint_url})"

    def one(self, operation: str, subject: Subject = CATALOG, **parameters: Any) -> Any:
        """A call that is answered at once."""
        client = self._open()
        with self._translated(subject):
            return getattr(client, operation)(**self._always, **parameters)

    def pages(self, operation: str, subject: Subject = CATALOG, **parameters: Any) -> Iterator[Any]:
        """The answers of a call that is answered in pages."""
        client = self._open()
        with self._translated(subject):
            paging = {"PageSize": PAGE_SIZES[operation]}
            yield from client.get_paginator(operation).paginate(**self._always, **parameters, PaginationConfig=paging)

    def input_shape(self, operation: str, member: str) -> Any:
        """What Glue takes as a member of an operation's input, as far as the installed SDK knows."""
        model = self._open().meta.service_model.operation_model(operation)
        return model.input_shape.members[member]

    def close(self) -> None:
        """Let go of connections."""
        with self._opening:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def schema(self, database: str) -> Subject:
        """A database as the subject of a call."""
        return Subject("Schema", f"{self.name}.{database}")

    def table(self, database: str, name: str) -> Subject:
        """A table as the subject of a call."""
        return Subject("Table", f"{self.name}.{database}.{name}")

    def _open(self) -> Any:
        with self._opening:
            if self._client is None:
                self._client = self._access.glue_client()
            return self._client

    @contextlib.contextmanager
    def _translated(self, subject: Subject) -> Iterator[None]:
        from botocore.exceptions import ClientError

        try:
            yield
        except Exception as e:
            ours = unreachable(e, self.where)
            if ours is None and isinstance(e, ClientError):
                ours = translated(e, subject, self.where)
            if ours is None:
                raise
            raise ours from e
