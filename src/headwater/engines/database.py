"""The database of an Iceberg catalog with the backend jdbc, as Java's drivers want it named."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from headwater.engines.base import Sheet

DRIVERS = {"postgresql": "org.postgresql.Driver", "sqlite": "org.sqlite.JDBC"}
USER = "jdbc-user"


def jdbc_url(uri: str) -> tuple[str, str, str | None]:
    """The kind of database, its JDBC URL, and the user that the URI names.

    >>> jdbc_url("postgresql://lake@db:5432/iceberg")
    ('postgresql', 'jdbc:postgresql://db:5432/iceberg', 'lake')
    >>> jdbc_url("sqlite:////data/ice.db")
    ('sqlite', 'jdbc:sqlite:/data/ice.db', None)
    """
    text = uri.removeprefix("jdbc:")
    if text.startswith("sqlite:"):
        path = text.removeprefix("sqlite:").removeprefix("//")
        return "sqlite", "jdbc:sqlite:/" + path.lstrip("/"), None
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    plain = urlunsplit(("postgresql", host, parts.path, parts.query, ""))
    return "postgresql", f"jdbc:{plain}", parts.username


def address(sheet: Sheet) -> tuple[str, str | None, str | None]:
    """The same of a sheet's catalog; no URL, if the server keeps it for itself."""
    uri = sheet.source.take("uri")
    return ("postgresql", None, None) if uri is None else jdbc_url(uri)


def backend_name(sheet: Sheet) -> str:
    """The name under which the database keeps this catalog's tables."""
    return sheet.source.take("catalog-backend-name") or "jdbc"


def call_by_backend_name(sheet: Sheet) -> None:
    """Iceberg's JdbcCatalog knows no other name of itself than the one that the engine gives it."""
    sheet.catalog = backend_name(sheet)
    if sheet.catalog != sheet.source.name:
        sheet.note(
            "Iceberg finds its tables in the database by the catalog's name: "
            f"{sheet.title} must call it {sheet.catalog}"
        )


def driver_note(sheet: Sheet, kind: str, driver: str) -> None:
    """What must be installed, and which databases can be reached from elsewhere at all."""
    sheet.note(f"The JDBC driver {driver} must be on {sheet.title}'s class path")
    if kind == "sqlite":
        sheet.note("The database is a file: only an engine on the same machine can open it")
