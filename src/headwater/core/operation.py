"""The one way through which every verb goes: authorise, check, act, record."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import re
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from headwater.access import Actor
from headwater.catalogs.base import Provider, caller
from headwater.core.lake import Lake
from headwater.core.verbs import Answer, NoBody, NoQuery, Verb
from headwater.events import Event
from headwater.model import codec
from headwater.model.errors import (
    ForbiddenError,
    HeadwaterError,
    IllegalArgumentError,
    InternalError,
)

log = structlog.get_logger(__name__)

_GZIP_FROM = 1000
_counter = itertools.count()
_process = os.urandom(5).hex()


class Call(msgspec.Struct):
    """A request for a verb, as far as the core must know it."""

    verb: Verb
    names: tuple[str, ...]
    """The names in the path: those of the chain above and, for one object, its own."""
    actor: Actor
    request_id: str
    raw_body: bytes = b""
    raw_query: str = ""
    data_operation: str | None = None
    """What a file system client is about to do with the location it asks for."""
    body: Any = None
    query: Any = None
    details: dict[str, Any] = {}
    """What the audit record says beside the names; never a property's value."""


class Result(msgspec.Struct):
    """What acting came to."""

    answer: Answer
    source: Provider | None = None
    """The backend that the answer depends on, besides the store."""
    source_token: Hashable | None = None
    """The backend's token from before it was asked."""
    names: Sequence[str] | None = None
    """For a list: the names in it, of which the caller may be allowed to see a part."""
    field: str = ""
    """For a list: the field of the answer that holds one entry per name."""


class Encoded:
    """An answer ready to be sent."""

    __slots__ = ("body", "etag", "result", "zipped")

    def __init__(self, result: Result) -> None:
        self.result = result
        self.body = codec.encode(result.answer)
        self.etag = f'W/"{hashlib.blake2b(self.body, digest_size=12).hexdigest()}"'
        self.zipped: bytes | None = None

    def gzip(self) -> bytes | None:
        """The compressed body, made once; None where it would not pay."""
        if len(self.body) < _GZIP_FROM:
            return None
        if self.zipped is None:
            self.zipped = gzip.compress(self.body, 3, mtime=0)
        return self.zipped


class Answers:
    """Encoded answers, as long as the store's token stays the same and within a budget of memory."""

    _PER_ENTRY = 600

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._entries: OrderedDict[Hashable, Encoded] = OrderedDict()
        self._size = 0
        self._token: Hashable = None

    def get(self, token: Hashable, key: Hashable) -> Encoded | None:
        """The answer, if nothing that it depends on has changed."""
        if token != self._token:
            self._entries.clear()
            self._size, self._token = 0, token
            return None
        found = self._entries.get(key)
        if found is None:
            return None
        result = found.result
        if result.source is not None and result.source.token() != result.source_token:
            del self._entries[key]
            self._size -= self._cost(found)
            return None
        return found

    def put(self, token: Hashable, key: Hashable, answer: Encoded) -> None:
        """Keep an answer that was worked out after `token` was read."""
        if token != self._token or (answer.result.source is not None and answer.result.source_token is None):
            return
        old = self._entries.pop(key, None)
        self._size += self._cost(answer) - (self._cost(old) if old else 0)
        self._entries[key] = answer
        while self._size > self._budget and self._entries:
            self._size -= self._cost(self._entries.popitem(last=False)[1])

    def _cost(self, answer: Encoded) -> int:
        names = answer.result.names
        # The compressed form may come later: it is counted as half the body from the start.
        return self._PER_ENTRY + len(answer.body) * 3 // 2 + (len(names) * 70 if names else 0)


async def operate(lake: Lake, call: Call) -> Encoded:
    """Run a verb. Whatever happens is recorded; an error leaves as HeadwaterError."""
    verb = call.verb
    begun = time.perf_counter()
    event_id = f"{_process}-{next(_counter):x}"
    error: HeadwaterError | None = None
    caller.set(call.actor.name)
    try:
        if not verb.by_full_name and any(name != name.lower() for name in call.names[2:4]):
            call.names = await lake.folded(call.names)
        if not await lake.policy.allows(call.actor, verb.privilege, verb.subject(call.names)):
            where = ".".join(call.names) or "this server"
            raise ForbiddenError(f"User '{call.actor.name}' is not allowed to {verb.event} on {where}")
        if verb.changes:
            return await _change(lake, call, event_id)
        return await _read(lake, call)
    except HeadwaterError as e:
        error = e
        raise
    except Exception as e:
        log.exception("unexpected error", operation=verb.event, request_id=call.request_id)
        error = InternalError(f"Unexpected error; the server's log has it under request id {call.request_id}")
        raise error from e
    finally:
        seconds = time.perf_counter() - begun
        event = _event(call, event_id, "after", error=error, duration=seconds)
        if verb.changes:
            await lake.bus.report(event)
        else:
            lake.bus.tell(event)


def record_refusal(lake: Lake, call: Call, error: HeadwaterError) -> None:
    """A request that was turned away before it could become an operation is recorded as well."""
    event = _event(call, f"{_process}-{next(_counter):x}", "after", error=error)
    event.changes = False  # nothing was announced, and nobody waits for it
    lake.bus.tell(event)


async def _read(lake: Lake, call: Call) -> Encoded:
    verb = call.verb
    found: Encoded | None = None
    token: Hashable = None
    key = (verb.event, call.names, call.raw_query)
    if verb.cached:
        token = await lake.store.token()
        found = lake.answers.get(token, key)
    if found is None:
        call.query = _decode_query(call)
        if verb.body is not NoBody:
            call.body = _decode_body(call)
        found = Encoded(await verb.act(lake, call))
        if verb.cached:
            lake.answers.put(token, key, found)
    if found.result.names is not None:
        return await _only_visible(lake, call, found)
    return found


async def _only_visible(lake: Lake, call: Call, found: Encoded) -> Encoded:
    result = found.result
    names = result.names or ()
    seen = await lake.policy.visible(call.actor, call.verb.privilege, call.verb.subject(call.names), names)
    if len(seen) == len(names):
        return found
    allowed = frozenset(seen)
    entries = getattr(result.answer, result.field)
    kept = [entry for name, entry in zip(names, entries, strict=True) if name in allowed]
    return Encoded(Result(msgspec.structs.replace(result.answer, **{result.field: kept})))


async def _change(lake: Lake, call: Call, event_id: str) -> Encoded:
    call.query = _decode_query(call)
    call.body = _decode_body(call)
    await lake.bus.announce(_event(call, event_id, "before"))
    return Encoded(await call.verb.act(lake, call))


def _decode_body(call: Call) -> Any:
    verb = call.verb
    if verb.body is NoBody:
        return None
    if not call.raw_body.strip():
        if not verb.body_required:
            return None
        raise IllegalArgumentError("The request needs a JSON body")
    body = codec.decode_body(call.raw_body, verb.body)
    call.details = _details(body)
    return body


def _details(body: Any) -> dict[str, Any]:
    """What of a body goes into the record: names, kinds of change, keys of properties. No value of a property."""
    details: dict[str, Any] = {}
    if name := getattr(body, "name", None):
        details["name"] = name
    if properties := getattr(body, "properties", None):
        details["properties"] = sorted(properties)
    if changes := getattr(body, "updates", None):
        details["changes"] = [_describe(c) for c in changes]
    if (in_use := getattr(body, "in_use", None)) is not None:
        details["inUse"] = in_use
    return details


def _describe(change: Any) -> str:
    what = type(change).__struct_config__.tag
    for field in ("property", "new_name", "field_name", "old_field_name", "name"):
        if (value := getattr(change, field, None)) is not None:
            return f"{what} {'.'.join(value) if isinstance(value, list | tuple) else value}"
    return str(what)


def _decode_query(call: Call) -> Any:
    spec = call.verb.query
    if not call.raw_query:
        return spec()
    try:
        pairs = urllib.parse.parse_qsl(call.raw_query, keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError as e:
        raise IllegalArgumentError(f"The query string can't be read: {e}") from None
    given: dict[str, str] = {}
    allowed = [f.encode_name for f in msgspec.structs.fields(spec)]
    for key, value in pairs:
        if key not in allowed:
            raise IllegalArgumentError(f"{key}: unknown query parameter; allowed are: {', '.join(allowed) or 'none'}")
        if key in given:
            raise IllegalArgumentError(f"{key}: the query parameter is given twice")
        if "\0" in value:
            raise IllegalArgumentError(f"{key}: the character NUL is not allowed")
        given[key] = value
    return _convert_query(given, spec)


def _convert_query(given: Mapping[str, str], spec: type[Any]) -> Any:
    values = {k: v.lower() if v.lower() in ("true", "false") else v for k, v in given.items()}
    try:
        return msgspec.convert(values, spec, strict=False)
    except msgspec.ValidationError as e:
        text, _, where = str(e).partition(" - at `$.")
        raise IllegalArgumentError(f"{where.rstrip('`') or 'query'}: {text}") from None


def _event(
    call: Call, event_id: str, phase: str, *, error: HeadwaterError | None = None, duration: float = 0.0
) -> Event:
    verb = call.verb
    status = 0 if phase == "before" else (200 if error is None else error.status)
    kind = None if error is None else error.type
    return Event(
        event_id, time.time(), verb.event, phase, verb.noun.name, call.names, call.actor.name, call.actor.peer,
        call.request_id, verb.changes, status, kind, duration, call.details,
    )  # fmt: skip


_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")


def request_id(given: str | None) -> str:
    """The caller's id if it is fit to be written into a log, else a new one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return f"{_process}-r{next(_counter):x}"


__all__ = ["Answers", "Call", "Encoded", "NoQuery", "Result", "operate", "record_refusal", "request_id"]
