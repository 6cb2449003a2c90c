"""`headwater catalog ...` and `headwater provider ...`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headwater.cli.options import change_options, changes, describing_options, if_exists_option, prefix_option
from headwater.cli.output import Printer, note, to_json
from headwater.cli.verbs import Noun, Session, dropped
from headwater.model.errors import MetalakeAlreadyExistsError

if TYPE_CHECKING:
    from headwater.client import CatalogHandle

catalog = Noun("catalog", help="Catalogs: the outside ones that are registered, and those that Headwater manages.")
provider = Noun("provider", help="Providers: the kinds of catalogs that there are.")

FIRST_METALAKE = "lake"

_provider = click.option("--provider", metavar="NAME", help="The kind of catalog; see 'headwater provider list'.")
_type = click.option("--type", "type_", metavar="TYPE", help="What it holds; the provider says it too.")


@catalog.verb("list", own=False)
@prefix_option
def list_(s: Session, prefix: str | None) -> None:
    """List the catalogs of a metalake.

    \b
    Examples:
      headwater catalog list
      headwater catalog list --metalake lake --output json
    """
    rows = [to_json(c.catalog) for c in s.client.list_catalogs_info(prefix=prefix)]
    s.show.listing(rows, ("name", "type", "provider", "comment"))


@catalog.verb("create")
@_provider
@_type
@describing_options
def create(
    s: Session, name: str, provider: str | None, type_: str | None, comment: str | None, properties: dict[str, str]
) -> None:
    """Register an outside catalog, or make one that Headwater manages.

    On a server without any metalake, one is made first. Passwords are best read from a file.

    \b
    Examples:
      headwater catalog create --name ice --provider lakehouse-iceberg \\
          --properties catalog-backend=jdbc,uri=sqlite:////data/ice.db,warehouse=/data/warehouse
      headwater catalog create --name files --provider fileset --properties location=/data/files
      headwater catalog create --name ice --provider lakehouse-iceberg --properties-file secret.properties
    """
    _ensure_metalake(s)
    _show(s, s.client.create_catalog(name, provider, type_, comment, properties))


def _ensure_metalake(s: Session) -> None:
    if s.client.list_metalakes():
        return
    name = s.settings.metalake or s.client.default_metalake or FIRST_METALAKE
    try:
        s.client.create_metalake(name)
    except MetalakeAlreadyExistsError:
        return
    note(f"The server had no metalake: {name} is made")


def _show(s: Session, made: CatalogHandle) -> None:
    for warning in made.warnings:
        note(f"warning: {warning}")
    s.show.details(made.catalog)


@catalog.verb("details")
def details(s: Session, name: str) -> None:
    """Show a catalog; its secrets are never shown.

    \b
    Examples:
      headwater catalog details --name ice
    """
    s.show.details(s.client.load_catalog(name).catalog)


@catalog.verb("update")
@change_options
def update(s: Session, name: str, **options: Any) -> None:
    """Change a catalog's name, comment or properties.

    \b
    Examples:
      headwater catalog update --name ice --set warehouse=/data/new --comment "Moved"
      headwater catalog update --name ice --rename iceberg
    """
    _show(s, s.client.alter_catalog(name, *changes(**options)))


@catalog.verb("enable")
def enable(s: Session, name: str) -> None:
    """Let a catalog be used again.

    \b
    Examples:
      headwater catalog enable --name ice
    """
    s.client.enable_catalog(name)
    s.show.done(f"Catalog {name} is enabled", inUse=True)


@catalog.verb("disable")
def disable(s: Session, name: str) -> None:
    """Let nobody use a catalog until it is enabled.

    \b
    Examples:
      headwater catalog disable --name ice
    """
    s.client.disable_catalog(name)
    s.show.done(f"Catalog {name} is disabled", inUse=False)


@catalog.verb("delete")
@if_exists_option
@click.option("--force", is_flag=True, help="Even if it is enabled or not empty.")
def delete(s: Session, name: str, if_exists: bool, force: bool) -> None:
    """Delete a catalog that is disabled; what an outside catalog holds stays as it is.

    \b
    Examples:
      headwater catalog delete --name ice --force
    """
    dropped(s, "catalog", name, s.client.drop_catalog(name, force), if_exists)


@catalog.verb("test")
@_provider
@describing_options
def test(s: Session, name: str, provider: str | None, comment: str | None, properties: dict[str, str]) -> None:
    """Try whether a catalog can be reached; with --provider one that is not made yet.

    \b
    Examples:
      headwater catalog test --name ice
      headwater catalog test --name new --provider lakehouse-iceberg \\
          --properties catalog-backend=jdbc,uri=sqlite:////data/ice.db,warehouse=/data/warehouse
    """
    if provider is not None:
        s.client.test_connection(name, provider, comment=comment, properties=properties)
    elif properties or comment:
        raise click.UsageError("Properties are for a catalog that is not made yet: name its --provider too")
    else:
        s.client.load_catalog(name).test_connection()
    s.show.done(f"Catalog {name} can be reached", reachable=True)


@catalog.verb("engine-config")
@click.option("--engine", required=True, metavar="spark|trino|flink", help="Who will read it.")
@click.option(
    "--format", "form", type=click.Choice(["properties", "sql", "json"]),
    help="A file, the statements that make the catalog, or data.  [default: properties]",
)  # fmt: skip
def engine_config(s: Session, name: str, engine: str, form: str | None) -> None:
    """Write what an engine must be told to reach a catalog and its data.

    Secrets are named and never shown: put them into the engine's environment. With 'properties' it is Trino's
    etc/catalog/NAME.properties, lines of spark-defaults.conf, or NAME.yaml of Flink's catalog store.

    \b
    Examples:
      headwater catalog engine-config --name ice --engine trino > etc/catalog/ice.properties
      headwater catalog engine-config --name ice --engine flink --format sql
    """
    from headwater.engines import rendering

    found = s.client.load_catalog(name).engine_settings(engine)
    if form == "json":
        Printer("json").details(found)
    elif form is None and s.show.form in ("json", "yaml"):
        s.show.details(found)
    else:
        click.echo(rendering.as_sql(found) if form == "sql" else rendering.as_file(found), nl=False)


@catalog.verb("properties", own=False)
@click.option("--provider", required=True, metavar="NAME", help="The kind of catalog.")
@click.option(
    "--of", "noun", type=click.Choice(["catalog", "schema", "table", "fileset"]), default="catalog",
    help="Whose properties.  [default: catalog]",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Ask the providers installed here, no server.")
def properties(s: Session, provider: str, noun: str, offline: bool) -> None:
    """Show which properties a provider declares.

    \b
    Examples:
      headwater catalog properties --provider lakehouse-iceberg
      headwater catalog properties --provider lakehouse-iceberg --of table --offline
    """
    if offline:
        from headwater.catalogs.registry import Providers
        from headwater.core.providers import show

        info = show(Providers().get(provider))
    else:
        info = s.client.provider(provider)
    declared = to_json(getattr(info, f"{noun}_properties"))
    s.show.listing([_row(p) for p in declared], ("name", "required", "default", "flags", "description"), data=declared)


def _row(declared: dict[str, Any]) -> dict[str, str]:
    """One declaration as a line of a table."""
    required = "yes" if declared["required"] else ""
    if when := declared.get("requiredWhen"):
        required = "with " + ", ".join(f"{k}={'|'.join(v)}" for k, v in when.items())
    choices = ", ".join(declared.get("choices", ()))
    return {
        "name": declared["name"],
        "required": required,
        "default": declared.get("default", ""),
        "flags": ", ".join(flag for flag in ("immutable", "hidden", "reserved") if declared[flag]),
        "description": declared["description"] + (f" One of {choices}." if choices else ""),
    }


@provider.verb("list", own=False)
def providers(s: Session) -> None:
    """List the kinds of catalogs that the server can work with.

    \b
    Examples:
      headwater provider list
    """
    found = s.client.providers()
    rows = [{"name": p.name, "type": p.type.value, "summary": p.summary} for p in found]
    s.show.listing(rows, ("name", "type", "summary"))
