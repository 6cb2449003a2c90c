"""What a catalog's properties may touch on the server's own machine."""

from __future__ import annotations

from pathlib import Path

from headwater.model.errors import HeadwaterError, IllegalArgumentError
from headwater.settings import Settings, resolve_secret


def local_path(location: str) -> Path | None:
    """The path of a location on this machine; None for a location elsewhere.

    Only what every library reads alike is taken: no host, no query, no fragment, no way up, nothing decoded.

    >>> local_path("file:///tmp/x"), local_path("s3://bucket/x")
    (PosixPath('/tmp/x'), None)
    """
    if location.startswith("file:"):
        text = location.removeprefix("file:")
        if text.startswith("//") and not text.startswith("///"):
            raise IllegalArgumentError(f"{location!r} names a host; allowed is file:///absolute/path")
        text = "/" + text.lstrip("/") if text.startswith("/") else text
    elif "://" in location:
        return None
    else:
        text = location
    if ".." in text.split("/") or any(c in text for c in "?#") or not text.isprintable():
        raise IllegalArgumentError(f"{location!r} may not contain '..', '?', '#' or control characters")
    return Path(text)


class Reach:
    """The bounds that the server's settings set."""

    def __init__(self, settings: Settings) -> None:
        roots = settings.storage.local_roots
        if roots is None:
            roots = ["/"] if settings.on_loopback else [str(settings.data_folder)]
        self._roots = [Path(r).expanduser().resolve() for r in roots]
        self._data = settings.data_folder.resolve()
        self._allowed = frozenset(settings.secrets.allow)

    def check_local(self, field: str, location: str) -> None:
        """Refuse a local path outside the allowed folders."""
        try:
            path = local_path(location)
        except IllegalArgumentError as e:
            raise IllegalArgumentError(f"{field}: {e.message}") from None
        if path is None:
            return
        if not path.is_absolute():
            raise IllegalArgumentError(f"{field}: {location!r} must be an absolute path or a URI")
        real = path.resolve()
        if not any(real.is_relative_to(root) for root in self._roots):
            allowed = ", ".join(str(r) for r in self._roots)
            raise IllegalArgumentError(
                f"{field}: {location!r} lies outside the folders that the server may use ({allowed}); "
                "the server's storage.local-roots can allow it"
            )

    def check_removable(self, field: str, location: str) -> None:
        """Refuse to own, and so to remove one day, a folder that holds more than its own."""
        path = local_path(location)
        if path is None:
            return
        real = path.resolve()
        kept = [self._data, *(r for r in self._roots if r != Path("/")), Path.home().resolve()]
        held = next((k for k in kept if k.is_relative_to(real)), None)
        if held is not None or real == Path("/"):
            raise IllegalArgumentError(
                f"{field}: {location!r} holds {held or 'everything'}: it can't be a managed folder"
            )

    def resolve(self, field: str, value: str) -> str:
        """A value given as `env:NAME` or `file:PATH`, where the server allows that name; others as they are."""
        if value in self._allowed and value.startswith(("env:", "file:")):
            try:
                return resolve_secret(value, field)
            except HeadwaterError as e:
                raise IllegalArgumentError(e.message) from None
        return value
