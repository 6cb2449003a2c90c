"""A walk through Headwater: starts a server on a free port with its data in a temporary folder, and uses it.

Run it with `make demo`. Each step prints the equivalent command line; the exit code is 0 only if every step worked.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
from glue_account import BUCKET, DATABASE, KEY, REGION, SECRET, glue_account
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.sql import SqlCatalog
from rich.console import Console
from rich.table import Table

from headwater import Client, NameIdentifier, Namespace
from headwater.model import AddColumn, ColumnPosition, RenameColumn, SetProperty, SetTableProperty, types
from headwater.model import Table as LakeTable

console = Console(highlight=False)
ORDERS = NameIdentifier.of("shop", "orders")
DRIVERS = NameIdentifier.of(DATABASE, "drivers")
_IN_GLUE = f"--catalog account --schema {DATABASE}"


def step(title: str, command: str = "") -> None:
    """Say what comes next, and how the command line does it."""
    console.print(f"\n[bold cyan]{title}[/]")
    if command:
        console.print(f"  [dim]$ {command}[/]", soft_wrap=True)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """A server of our own; the address that it says it listens on."""
    command = [sys.executable, "-m", "headwater.cli.main", "serve", "--port", "0", "--data", str(folder / "data")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"the server did not start (exit code {process.wait()})")
        console.print(f"  {line}")
        yield line.split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def show(table: LakeTable) -> None:
    """Print a table's columns."""
    grid = Table(
        "column", "type", "nullable", title=": ".join(filter(None, (table.name, table.comment))), title_justify="left"
    )
    for column in table.columns:
        grid.add_row(column.name, str(column.type), "yes" if column.nullable else "no")
    console.print(grid)


def make_catalog(client: Client, folder: Path) -> None:
    """A metalake with an Iceberg catalog in it."""
    step("A metalake: the outermost namespace", "headwater metalake create --name demo")
    client.create_metalake("demo", comment="A demonstration")
    properties = {
        "catalog-backend": "jdbc",
        "uri": f"sqlite:///{folder}/iceberg.db",
        "warehouse": str(folder / "warehouse"),
    }
    given = ",".join(f"{k}={v}" for k, v in properties.items())
    step(
        "An Iceberg catalog in it",
        f"headwater catalog create --name sales --provider lakehouse-iceberg --properties {given}",
    )
    client.create_catalog("sales", provider="lakehouse-iceberg", properties=properties)


def make_tables(client: Client) -> None:
    """A schema and two tables."""
    catalog = client.load_catalog("sales")
    step("A schema", "headwater schema create --catalog sales --name shop")
    catalog.as_schemas().create_schema("shop", comment="The web shop")
    step(
        "Two tables; types may be SQL names",
        'headwater table create --catalog sales --schema shop --name orders --columns "id bigint not null, ..."',
    )
    tables = catalog.as_table_catalog()
    columns = [
        {"name": "id", "type": "bigint", "nullable": False},
        {"name": "customer", "type": "varchar(40)"},
        {"name": "amount", "type": "decimal(18,2)"},
        {"name": "region", "type": "string"},
        {"name": "placed", "type": "timestamp"},
    ]
    by_region = [{"strategy": "identity", "fieldName": ["region"]}]
    tables.create_table(ORDERS, columns, comment="One row per order", partitioning=by_region)
    names = [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}]
    tables.create_table(NameIdentifier.of("shop", "customers"), names, comment="Who buys")
    show(tables.load_table(ORDERS))


def write_and_read(folder: Path) -> None:
    """The tables are real Iceberg: any Iceberg library works with them."""
    step("Write rows with pyiceberg, straight into the table, and read them back")
    table = SqlCatalog("jdbc", uri=f"sqlite:///{folder}/iceberg.db").load_table("shop.orders")
    start = datetime(2026, 1, 1)
    rows = {
        "id": list(range(1, 7)),
        "customer": ["ann", "bob", "cem", "ann", "dan", "eve"],
        "amount": pa.array([f"{n * 7}.50" for n in range(1, 7)]).cast(pa.decimal128(18, 2)),
        "region": ["north", "south"] * 3,
        "placed": [start + timedelta(hours=n) for n in range(6)],
    }
    table.append(pa.table(rows, schema=table.schema().as_arrow()))
    found = table.scan(row_filter="region == 'north'").to_arrow()
    console.print(f"  {table.scan().to_arrow().num_rows} rows written, {found.num_rows} of them in the north")
    if found.num_rows != 3:
        raise RuntimeError(f"expected 3 rows in the north, found {found.num_rows}")


def alter(client: Client, folder: Path) -> None:
    """Several changes, one commit."""
    step(
        "Change the table: all changes of one request are one Iceberg commit",
        "headwater table update --catalog sales --schema shop --name orders "
        '--add-column "status string" --rename-column customer=buyer --set owner=web',
    )
    tables = client.load_catalog("sales").as_table_catalog()
    changed = tables.alter_table(
        ORDERS,
        AddColumn(["status"], types.String(), position=ColumnPosition.after("id")),
        RenameColumn(["customer"], "buyer"),
        SetTableProperty("owner", "web"),
    )
    show(changed)
    buyers = SqlCatalog("jdbc", uri=f"sqlite:///{folder}/iceberg.db").load_table("shop.orders").scan().to_arrow()
    if sorted(set(buyers["buyer"].to_pylist())) != ["ann", "bob", "cem", "dan", "eve"]:
        raise RuntimeError("the rows written before are not readable under the new name")
    console.print("  the rows written before are read under the column's new name")


def connect_glue(client: Client, endpoint: str) -> None:
    """A whole Glue account as one catalog, and an Iceberg table made in it."""
    properties = {"aws-region": REGION, "aws-glue-catalog-id": "123456789012", "warehouse": f"s3://{BUCKET}/warehouse"}
    given = ",".join(f"{k}={v}" for k, v in properties.items())
    step(
        "An AWS Glue account (played by moto) as one catalog, whatever the format of its tables",
        f"headwater catalog create --name account --provider glue --properties {given}",
    )
    here = {"aws-glue-endpoint": endpoint, "s3-endpoint": endpoint, "s3-path-style-access": "true"}
    here |= {"aws-access-key-id": KEY, "aws-secret-access-key": SECRET}
    client.create_catalog("account", provider="glue", properties={**properties, **here})
    step(
        "An Iceberg table in it, beside those that engines left there",
        'headwater table create --catalog account --schema fleet --name drivers --columns "id bigint, name string"',
    )
    columns = [{"name": "id", "type": "bigint", "nullable": False}, {"name": "name", "type": "string"}]
    client.load_catalog("account").as_table_catalog().create_table(DRIVERS, columns, comment="Who drives")


def list_by_format(client: Client) -> None:
    """Everything, then some of it by the filter."""
    step("All tables of the account; the view that Presto keeps among them is none", f"headwater table list {_IN_GLUE}")
    tables = client.load_catalog("account").as_table_catalog()
    grid = Table("table", "format", "files", "columns")
    for name in tables.list_tables(Namespace.of(DATABASE)):
        table = tables.load_table(NameIdentifier.of(DATABASE, name))
        files = table.properties.get("format", "").rpartition("/")[2].lower()
        grid.add_row(name, table.properties["table-format"], files, str(len(table.columns) or "in its own log"))
    console.print(grid)
    step("Some of them, by format", "headwater catalog update --name account --set table-type-filter=iceberg,hudi")
    expected = {
        "all": ["drivers", "events", "hudi_trips", "readings", "stations"],
        "iceberg,hudi": ["drivers", "hudi_trips"],
        "delta": ["readings"],
        "parquet,csv": ["events", "stations"],
    }
    for kinds in ("iceberg,hudi", "delta", "parquet,csv", "all"):
        client.alter_catalog("account", SetProperty("table-type-filter", kinds))
        found = client.load_catalog("account").as_table_catalog().list_tables(Namespace.of(DATABASE))
        console.print(f"  {kinds:<13} {', '.join(found)}")
        if found != expected[kinds]:
            raise RuntimeError(f"expected {expected[kinds]}")


def change_in_glue(client: Client, endpoint: str) -> None:
    """A Hudi table as it is; an Iceberg table changed."""
    tables = client.load_catalog("account").as_table_catalog()
    step("A Hudi table that Spark wrote", f"headwater table details {_IN_GLUE} --name hudi_trips")
    show(tables.load_table(NameIdentifier.of(DATABASE, "hudi_trips")))
    step(
        "A new column for the Iceberg table",
        f'headwater table update {_IN_GLUE} --name drivers --add-column "licence string"',
    )
    tables.alter_table(DRIVERS, AddColumn(["licence"], types.String(), comment="Its number"))
    show(tables.load_table(DRIVERS))
    said = {"endpoint": endpoint, "region": REGION, "access-key-id": KEY, "secret-access-key": SECRET}
    settings = {f"{service}.{key}": value for service in ("glue", "s3") for key, value in said.items()}
    seen = GlueCatalog("glue", **settings).load_table(f"{DATABASE}.drivers").schema().column_names
    if seen != ["id", "name", "licence"]:
        raise RuntimeError(f"pyiceberg sees {seen}")
    console.print("  pyiceberg, straight from Glue, sees it too")


def look_around(client: Client, uri: str, folder: Path) -> None:
    """Lists, the audit log, health."""
    step("What is there", "headwater table list --catalog sales --schema shop")
    tables = client.load_catalog("sales").as_table_catalog()
    console.print("  " + ", ".join(tables.list_tables(Namespace.of("shop"))))
    step("What happened: the last lines of the audit log", "tail -n 2 data/audit.jsonl")
    time.sleep(0.2)
    for line in (folder / "data" / "audit.jsonl").read_text().splitlines()[-2:]:
        console.print("  " + line, soft_wrap=True, style="dim", markup=False)
    step("Is it well?", "curl http://127.0.0.1:8090/health/ready")
    with urllib.request.urlopen(f"{uri}/health/ready") as answer:
        console.print("  " + answer.read().decode(), soft_wrap=True, style="dim", markup=False)


def main() -> int:
    """All steps; 0 if they worked."""
    for name in [n for n in os.environ if n.startswith(("HEADWATER_", "AWS_"))]:
        del os.environ[name]  # settings of another server or account are not meant for these
    os.environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "AWS_CONFIG_FILE": os.devnull}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headwater-demo-") as name:
        folder = Path(name)
        step("A server, with its data in a temporary folder", "headwater serve --data data")
        with glue_account() as glue, server(folder) as uri, Client(uri, metalake="demo") as client:
            make_catalog(client, folder)
            make_tables(client)
            write_and_read(folder)
            alter(client, folder)
            connect_glue(client, glue)
            list_by_format(client)
            change_in_glue(client, glue)
            look_around(client, uri, folder)
    console.print(f"\n[bold green]Done in {time.monotonic() - begun:.1f} seconds.[/] Next: the tour in README.md.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
