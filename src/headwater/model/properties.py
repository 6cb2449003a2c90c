"""Declarations of properties as data: they validate input and feed the CLI, the docs and the OpenAPI document."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence

from headwater.model.errors import IllegalArgumentError
from headwater.model.wire import Wire, always

_INTEGER = re.compile(r"-?[0-9]{1,18}")


_SECRET = re.compile(r"(password|passwd|secret|token|private-?key|secret-access-key|credential)s?$")
"""Ends of keys that nobody declared and that hold a secret all the same."""


class Kind(enum.Enum):
    """What a property's text must look like."""

    STRING = "string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    CHOICE = "choice"
    LOCATION = "location"


class Property(Wire):
    """One declared property.

    `required_when` names another property and the values of it that make this one required. A name that ends in `*`
    declares every key with that prefix.
    """

    name: str
    description: str
    kind: Kind = always(lambda: Kind.STRING)
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = always(bool)
    required_when: dict[str, tuple[str, ...]] = {}
    immutable: bool = always(bool)
    hidden: bool = always(bool)
    reserved: bool = always(bool)

    def check(self, value: str) -> None:
        """Refuse a value that this property can't have."""
        lower = value.lower()
        if self.kind is Kind.BOOLEAN and lower not in ("true", "false"):
            raise IllegalArgumentError(f"properties.{self.name}: {value!r} is not allowed; allowed are true, false")
        if self.kind is Kind.INTEGER and _INTEGER.fullmatch(value) is None:
            raise IllegalArgumentError(f"properties.{self.name}: {value!r} is not a whole number")
        if self.kind is Kind.CHOICE and lower not in self.choices:
            allowed = ", ".join(self.choices)
            raise IllegalArgumentError(f"properties.{self.name}: {value!r} is not allowed; allowed are {allowed}")


DRIVER_PREFIX = "gravitino.bypass."
"""Keys meant for the library that the server itself talks to the backend with."""

ENGINE_PREFIXES = ("spark.bypass.", "trino.bypass.", "flink.bypass.", "hadoop.bypass.")
"""Keys meant for an engine or a driver: served as they are, without a warning."""


class Properties:
    """The declared properties of one noun of one provider.

    >>> spec = Properties([Property(name="uri", description="Where it is.", required=True)])
    >>> spec.check_new({"url": "x"}, strict=True)
    Traceback (most recent call last):
        ...
    headwater.model.errors.IllegalArgumentError: properties.url: unknown property; did you mean 'uri'?
    """

    def __init__(self, declared: Iterable[Property] = ()) -> None:
        self.declared = tuple(declared)
        self._exact = {p.name: p for p in self.declared if not p.name.endswith("*")}
        self._prefixes = [(p.name[:-1], p) for p in self.declared if p.name.endswith("*")]

    def get(self, key: str) -> Property | None:
        """The declaration that covers `key`."""
        found = self._exact.get(key)
        return found or next((p for prefix, p in self._prefixes if key.startswith(prefix)), None)

    def check_new(self, given: Mapping[str, str], *, strict: bool = False) -> list[str]:
        """Validate the properties of a new object; the answer is a list of warnings about unknown keys.

        `strict` refuses an unknown key that looks like a misspelt declared one.
        """
        for key, value in given.items():
            self._check_settable(key, value)
        missing = [p.name for p in self._exact.values() if p.name not in given and self._is_required(p, given)]
        if missing:
            names = ", ".join(missing)
            raise IllegalArgumentError(f"properties: required and missing: {names}" + self._why(missing, given))
        return self.warnings(given, strict=strict)

    def check_change(self, before: Mapping[str, str], after: Mapping[str, str], *, strict: bool = False) -> list[str]:
        """Validate the step from `before` to `after`: nothing immutable moved, nothing required went away."""
        touched = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
        for key in sorted(touched):
            declared = self.get(key)
            if declared is not None and declared.immutable:
                raise IllegalArgumentError(f"properties.{key}: it can't be changed after creation")
            if key in after:
                self._check_settable(key, after[key])
            elif declared is not None and declared.reserved:
                raise IllegalArgumentError(f"properties.{key}: it is reserved and can't be removed")
        missing = [p.name for p in self._exact.values() if p.name not in after and self._is_required(p, after)]
        if missing and touched:
            raise IllegalArgumentError(f"properties: required, so it can't be removed: {', '.join(missing)}")
        return self.warnings({k: after[k] for k in touched if k in after}, strict=strict)

    def check_removal(self, key: str) -> None:
        """Refuse to remove what is reserved, immutable or required."""
        declared = self.get(key)
        if declared is not None and (declared.reserved or declared.immutable or declared.required):
            why = "reserved" if declared.reserved else "immutable" if declared.immutable else "required"
            raise IllegalArgumentError(f"properties.{key}: it is {why} and can't be removed")

    def warnings(self, given: Iterable[str], *, strict: bool) -> list[str]:
        """A sentence for each key that nobody declared."""
        out = []
        for key in given:
            if self.get(key) is not None or key.startswith(ENGINE_PREFIXES):
                continue
            near = self._near(key) if strict else None
            if near is not None:
                raise IllegalArgumentError(f"properties.{key}: unknown property; did you mean {near!r}?")
            how = "kept as a secret and not served" if self._is_hidden(key) else "kept and served as it is"
            out.append(f"properties.{key}: not a declared property; it is {how}")
        return out

    def hidden(self, given: Mapping[str, str]) -> dict[str, str]:
        """The part of `given` that may never be shown: what is declared so, and what calls itself a secret."""
        return {k: v for k, v in given.items() if self._is_hidden(k)}

    def _is_hidden(self, key: str) -> bool:
        declared = self.get(key)
        return _SECRET.search(key.lower()) is not None if declared is None else declared.hidden

    def _check_settable(self, key: str, value: str) -> None:
        if not key.strip():
            raise IllegalArgumentError("properties: a key may not be empty")
        declared = self.get(key)
        if declared is None:
            return
        if declared.reserved:
            raise IllegalArgumentError(f"properties.{key}: it is reserved and can't be set")
        declared.check(value)

    def _is_required(self, declared: Property, given: Mapping[str, str]) -> bool:
        if declared.required:
            return True
        return any(self.value(given, other) in values for other, values in declared.required_when.items())

    def value(self, given: Mapping[str, str], key: str) -> str | None:
        """The given value or the declared default, in lower case when the property is a choice."""
        declared = self.get(key)
        found = given.get(key, declared.default if declared else None)
        return found.lower() if found is not None and declared is not None and declared.kind is Kind.CHOICE else found

    def _why(self, missing: Sequence[str], given: Mapping[str, str]) -> str:
        for name in missing:
            for other, values in self._exact[name].required_when.items():
                if (value := self.value(given, other)) in values:
                    return f" (needed with {other}={value})"
        return ""

    def _near(self, key: str) -> str | None:
        for name in self._exact:
            if letters_apart(key, name) <= min(2, (len(name) - 1) // 2):
                return name
        return None


def letters_apart(a: str, b: str) -> int:
    """How many letters must be added, dropped, changed or swapped with their neighbour to make `a` into `b`.

    >>> letters_apart("warehosue", "warehouse")
    1
    """
    if abs(len(a) - len(b)) > 2:
        return 3
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
