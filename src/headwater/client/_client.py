"""The client: metalakes, the catalogs of one of them, and the way to what lies in those."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headwater.client._catalogs import (
    CatalogHandle,
    FilesetCatalog,
    Json,
    SchemaCatalog,
    Strings,
    TableCatalog,
    given,
    updates,
)
from headwater.client._connection import Connection, path
from headwater.client._decode import decode
from headwater.core.answers import ProviderInfo
from headwater.model.changes import Change
from headwater.model.errors import IllegalArgumentError, NoSuchMetalakeError
from headwater.model.nouns import Catalog, CatalogType, Metalake

if TYPE_CHECKING:
    import httpx

DEFAULT_URI = "http://127.0.0.1:8090"


class Client:
    """Talks to one Headwater server.

    What is not given is taken from the environment: `HEADWATER_URI`, `HEADWATER_METALAKE`, `HEADWATER_USER` and
    `HEADWATER_CA_FILE`. Without a metalake, the server's default one is meant, or the only one it has. Proxies are
    used as `HTTPS_PROXY` and `NO_PROXY` say. Errors are those of `headwater.model.errors`.

        with Client("http://127.0.0.1:8090", metalake="lake") as client:
            tables = client.load_catalog("ice").as_table_catalog()
            print(tables.list_tables(Namespace.of("sales")))
    """

    def __init__(
        self,
        uri: str | None = None,
        metalake: str | None = None,
        user: str | None = None,
        ca_file: str | None = None,
        timeout: float = 30,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        def setting(value: str | None, variable: str) -> str | None:
            return value if value is not None else os.environ.get(variable) or None

        self._metalake = setting(metalake, "HEADWATER_METALAKE")
        self._connection = Connection(
            setting(uri, "HEADWATER_URI") or DEFAULT_URI,
            setting(user, "HEADWATER_USER"),
            setting(ca_file, "HEADWATER_CA_FILE"),
            timeout,
            transport,
        )

    @property
    def uri(self) -> str:
        """The server's address."""
        return self._connection.uri

    @property
    def metalake(self) -> str:
        """The metalake whose catalogs are meant; asks the server once if none was named."""
        if self._metalake is None:
            self._metalake = self._find_metalake()
        return self._metalake

    @property
    def default_metalake(self) -> str | None:
        """The metalake that the server's configuration names as the default, if it does."""
        return self._connection.configs().get("headwater.default-metalake")

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.uri}>"

    # --- the server ------------------------------------------------------------------------------------------------

    def version(self) -> str:
        """The server's version."""
        version: dict[str, Any] = self._connection.get("/api/version")["version"]
        return str(version.get("headwater", version["version"]))

    def providers(self) -> list[ProviderInfo]:
        """The kinds of catalogs that the server can work with, each with the properties that it declares."""
        return [decode(p, ProviderInfo) for p in self._connection.pages(path("providers"), "providers")]

    def provider(self, name: str) -> ProviderInfo:
        """One kind of catalog."""
        return decode(self._connection.get(path("providers", name))["provider"], ProviderInfo)

    # --- metalakes -------------------------------------------------------------------------------------------------

    def list_metalakes(self, *, prefix: str | None = None, page_size: int | None = None) -> list[str]:
        """The names of all metalakes."""
        return [m.name for m in self.list_metalakes_info(prefix=prefix, page_size=page_size)]

    def list_metalakes_info(self, *, prefix: str | None = None, page_size: int | None = None) -> list[Metalake]:
        """All metalakes."""
        entries = self._connection.pages(path("metalakes"), "metalakes", page_size, namePrefix=prefix)
        return [decode(m, Metalake) for m in entries]

    def create_metalake(self, name: str, comment: str | None = None, properties: Strings | None = None) -> Metalake:
        """Make a metalake."""
        body = given(name=name, comment=comment, properties=properties)
        return decode(self._connection.call("POST", path("metalakes"), body)["metalake"], Metalake)

    def load_metalake(self, name: str) -> Metalake:
        """One metalake."""
        return decode(self._connection.get(path("metalakes", name))["metalake"], Metalake)

    def alter_metalake(self, name: str, *changes: Change | Json) -> Metalake:
        """Change a metalake's name, comment or properties."""
        return decode(self._connection.call("PUT", path("metalakes", name), updates(changes))["metalake"], Metalake)

    def enable_metalake(self, name: str) -> None:
        """Let a metalake be used."""
        self._connection.call("PATCH", path("metalakes", name), {"inUse": True})

    def disable_metalake(self, name: str) -> None:
        """Let a metalake not be used until it is enabled."""
        self._connection.call("PATCH", path("metalakes", name), {"inUse": False})

    def drop_metalake(self, name: str, force: bool = False) -> bool:
        """Drop a disabled and empty metalake, with `force` any; False if there was none."""
        return bool(self._connection.call("DELETE", path("metalakes", name), query={"force": force})["dropped"])

    # --- catalogs of the metalake ----------------------------------------------------------------------------------

    def list_catalogs(self, *, prefix: str | None = None, page_size: int | None = None) -> list[str]:
        """The names of all catalogs."""
        return self._connection.names(self._catalogs(), prefix, page_size)

    def list_catalogs_info(self, *, prefix: str | None = None, page_size: int | None = None) -> list[CatalogHandle]:
        """All catalogs."""
        entries = self._connection.pages(self._catalogs(), "catalogs", page_size, namePrefix=prefix, details="true")
        return [self._handle({"catalog": c}) for c in entries]

    def create_catalog(
        self,
        name: str,
        provider: str | None = None,
        type: CatalogType | str | None = None,  # noqa: A002 - named as it is served
        comment: str | None = None,
        properties: Strings | None = None,
    ) -> CatalogHandle:
        """Register an outside catalog, or make one that Headwater manages."""
        body = given(name=name, provider=provider, type=type, comment=comment, properties=properties)
        return self._handle(self._connection.call("POST", self._catalogs(), body))

    def load_catalog(self, name: str) -> CatalogHandle:
        """One catalog."""
        return self._handle(self._connection.get(self._catalogs(name)))

    def alter_catalog(self, name: str, *changes: Change | Json) -> CatalogHandle:
        """Change a catalog's name, comment or properties."""
        return self._handle(self._connection.call("PUT", self._catalogs(name), updates(changes)))

    def enable_catalog(self, name: str) -> None:
        """Let a catalog be used."""
        self._connection.call("PATCH", self._catalogs(name), {"inUse": True})

    def disable_catalog(self, name: str) -> None:
        """Let a catalog not be used until it is enabled."""
        self._connection.call("PATCH", self._catalogs(name), {"inUse": False})

    def drop_catalog(self, name: str, force: bool = False) -> bool:
        """Drop a disabled catalog, with `force` any; what an outside one holds stays. False if there was none."""
        return bool(self._connection.call("DELETE", self._catalogs(name), query={"force": force})["dropped"])

    def test_connection(
        self,
        name: str,
        provider: str | None = None,
        type: CatalogType | str | None = None,  # noqa: A002 - named as it is served
        comment: str | None = None,
        properties: Strings | None = None,
    ) -> None:
        """Raise the reason if a catalog like this could not reach its backend; makes nothing."""
        body = given(name=name, provider=provider, type=type, comment=comment, properties=properties)
        self._connection.call("POST", self._catalogs("testConnection"), body)

    # --- what lies in a catalog, without loading that first ----------------------------------------------------------

    def schemas(self, catalog: str) -> SchemaCatalog:
        """The schemas of a catalog."""
        return SchemaCatalog(self._connection, self.metalake, catalog)

    def tables(self, catalog: str) -> TableCatalog:
        """The tables of a catalog."""
        return TableCatalog(self._connection, self.metalake, catalog)

    def filesets(self, catalog: str) -> FilesetCatalog:
        """The filesets of a catalog."""
        return FilesetCatalog(self._connection, self.metalake, catalog)

    def _catalogs(self, *segments: str) -> str:
        return path("metalakes", self.metalake, "catalogs", *segments)

    def _handle(self, answer: Json) -> CatalogHandle:
        catalog = decode(answer["catalog"], Catalog)
        return CatalogHandle(self._connection, self.metalake, catalog, answer.get("warnings") or ())

    def _find_metalake(self) -> str:
        default = self.default_metalake
        if default:
            return default
        known = self.list_metalakes()
        if not known:
            raise NoSuchMetalakeError("The server has no metalake yet: create one first")
        if len(known) > 1:
            raise IllegalArgumentError(
                f"metalake: the server has several: {', '.join(known[:10])}{', ...' * (len(known) > 10)}; "
                "name the one that is meant, HEADWATER_METALAKE can do that for all calls"
            )
        return known[0]
