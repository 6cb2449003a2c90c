"""moto's server with `glue_rules` around Glue, a record of all calls, and failures on demand (see `aws`).

Run as `python -m tests.servers.aws_app PORT`.
"""

import contextlib
import io
import json
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

from tests.servers.glue_rules import GlueError, GlueRules, Json

Environ = dict[str, Any]
StartResponse = Callable[..., Any]

# The operations of S3 by method, by whether a key is named, and by the query's parameter that tells them apart.
S3_OPERATIONS = {
    ("GET", False, "location"): "GetBucketLocation",
    ("GET", False, "list-type"): "ListObjectsV2",
    ("GET", False, "uploads"): "ListMultipartUploads",
    ("GET", False, "versions"): "ListObjectVersions",
    ("GET", False, ""): "ListObjects",
    ("HEAD", False, ""): "HeadBucket",
    ("PUT", False, ""): "CreateBucket",
    ("DELETE", False, ""): "DeleteBucket",
    ("POST", False, "delete"): "DeleteObjects",
    ("GET", True, "uploadId"): "ListParts",
    ("GET", True, ""): "GetObject",
    ("HEAD", True, ""): "HeadObject",
    ("PUT", True, "uploadId"): "UploadPart",
    ("PUT", True, ""): "PutObject",
    ("DELETE", True, "uploadId"): "AbortMultipartUpload",
    ("DELETE", True, ""): "DeleteObject",
    ("POST", True, "uploads"): "CreateMultipartUpload",
    ("POST", True, "uploadId"): "CompleteMultipartUpload",
}


@dataclass(frozen=True)
class Call:
    """What the record says of a call."""

    service: str
    operation: str
    access_key_id: str
    parameters: Json

    def as_json(self) -> Json:
        said = {"service": self.service, "operation": self.operation, "accessKeyId": self.access_key_id}
        return {**said, "parameters": self.parameters}


@dataclass
class Fault:
    """What is to happen to the next calls of an operation."""

    operation: str
    times: int = 1
    code: str | None = None
    message: str = "Injected."
    status: int = 400
    delay: float = 0
    after: bool = False

    @property
    def error(self) -> GlueError | None:
        return GlueError(self.code, self.message, self.status) if self.code else None


class AwsApp:
    def __init__(self) -> None:
        self._moto: Any = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        # One call of Glue at a time: a version is compared and its successor written in one step.
        self._glue_lock = threading.Lock()
        self._rules = GlueRules()
        self._calls: list[Call] = []
        self._faults: list[Fault] = []
        # What to do in Glue before the next call of an operation, and the parameters of each.
        self._first: list[tuple[str, Json]] = []

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith("/headwater/"):
            return self._administer(path.removeprefix("/headwater/"), environ, start_response)
        if path.startswith("/moto-api/"):
            return self._pass_on(environ, start_response)
        call = _describe(environ)
        fault = self._record(call)
        if fault.delay:
            time.sleep(fault.delay)
        if fault.error and not fault.after:
            return _refuse(call, fault.error, start_response)
        if call.service == "glue":
            return self._answer_glue(call, environ, fault.error, start_response)
        if fault.error:
            b"".join(self._pass_on(environ, lambda *arguments: None))
            return _refuse(call, fault.error, start_response)
        return self._pass_on(environ, start_response)

    def _pass_on(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer

    def _record(self, call: Call) -> Fault:
        """Remember the call and take what is to happen to it."""
        with self._lock:
            self._calls.append(call)
            for fault in self._faults:
                if fault.operation in (call.operation, "*"):
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                    return fault
        return Fault(call.operation)

    def _answer_glue(
        self, call: Call, environ: Environ, late_error: GlueError | None, start_response: StartResponse
    ) -> Iterable[bytes]:
        def backend(operation: str, parameters: Json) -> Json:
            return self._ask_moto(environ, operation, parameters)

        try:
            with self._glue_lock:
                for operation, parameters in self._take_first(call.operation):
                    self._rules.answer(operation, parameters, backend)
                answer = self._rules.answer(call.operation, call.parameters, backend)
            if late_error is not None:
                raise late_error
        except GlueError as error:
            return _refuse(call, error, start_response)
        return _send(200, answer, start_response)

    def _ask_moto(self, environ: Environ, operation: str, parameters: Json) -> Json:
        body = json.dumps(parameters).encode()
        asked = {
            **environ,
            "HTTP_X_AMZ_TARGET": f"AWSGlue.{operation}",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        }
        status = ""

        def start(line: str, *others: object) -> None:
            nonlocal status
            status = line

        answer = b"".join(self._pass_on(asked, start))
        number = int(status.split(maxsplit=1)[0])
        try:
            said = json.loads(answer or b"{}")
        except ValueError:
            raise GlueError("InternalServiceException", f"moto has no {operation}.", 500) from None
        if number >= 400:
            message = said.get("message") or said.get("Message") or ""
            raise GlueError(said.get("__type", "InternalServiceException"), message, number)
        return dict(said)

    def _take_first(self, operation: str) -> list[tuple[str, Json]]:
        with self._lock:
            taken = [first for awaited, first in self._first if awaited == operation]
            self._first = [(awaited, first) for awaited, first in self._first if awaited != operation]
        return [item for first in taken for item in first.items()]

    def _administer(self, what: str, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        wanted = json.loads(_read_body(environ) or b"{}")
        with self._lock:
            match f"{environ['REQUEST_METHOD']} {what}":
                case "GET calls":
                    return _send(200, [call.as_json() for call in self._calls], start_response)
                case "POST calls/reset":
                    self._calls.clear()
                case "POST throttle":
                    code, message = "ThrottlingException", "Rate exceeded"
                    self._faults.append(Fault(**wanted, code=code, message=message))
                case "POST fail":
                    self._faults.append(Fault(**wanted))
                case "POST on-next":
                    self._first.append((wanted["operation"], wanted["first"]))
                case "POST page-size":
                    self._rules.page_size = wanted["size"]
                case "POST reset":
                    self._calls.clear()
                    self._faults.clear()
                    self._first.clear()
                    self._rules.reset()
                case _:
                    return _send(404, {"message": "There is no such page."}, start_response)
        return _send(200, {}, start_response)


def _describe(environ: Environ) -> Call:
    authorization = environ.get("HTTP_AUTHORIZATION", "")
    credential = re.search(r"Credential=([^/,]+)/[^/]*/[^/]*/([^/]+)/", authorization)
    access_key_id, service = credential.groups() if credential else ("", "")
    operation = environ["REQUEST_METHOD"]
    parameters: Json = {}
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        operation = target.rpartition(".")[2]
        body = _read_body(environ)
        with contextlib.suppress(ValueError):
            parameters = json.loads(body or b"{}")
        if target.startswith("AWSGlue."):
            service = "glue"
    elif environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        parameters = {key: values[-1] for key, values in parse_qs(_read_body(environ).decode()).items()}
        operation = parameters.pop("Action", operation)
    elif service in ("s3", ""):
        service = "s3"
        operation, parameters = _describe_s3(environ)
    return Call(service, operation, access_key_id, parameters)


def _describe_s3(environ: Environ) -> tuple[str, Json]:
    method, query = environ["REQUEST_METHOD"], parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    bucket, _, key = environ["PATH_INFO"].removeprefix("/").partition("/")
    if not bucket:
        return "ListBuckets", {}
    if method == "PUT" and "HTTP_X_AMZ_COPY_SOURCE" in environ:
        operation = "UploadPartCopy" if "uploadId" in query else "CopyObject"
    else:
        marks = [mark for mark in (*query, "") if (method, bool(key), mark) in S3_OPERATIONS]
        operation = S3_OPERATIONS[method, bool(key), marks[0]] if marks else method
    parameters = {"Bucket": bucket, **({"Key": key} if key else {})}
    return operation, {**parameters, **({"Prefix": query["prefix"][0]} if "prefix" in query else {})}


def _read_body(environ: Environ) -> bytes:
    """The body of a request, which stays to be read again."""
    body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _refuse(call: Call, error: GlueError, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with an error in the format of the call's service."""
    if call.service == "glue":
        return _send(error.status, {"__type": error.code, "message": error.message}, start_response)
    said = f"<Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
    answer = f"<Error>{said}</Error>"
    if call.service != "s3":
        answer = f"<ErrorResponse><Error><Type>Sender</Type>{said}</Error></ErrorResponse>"
    start_response(f"{error.status} Error", [("Content-Type", "text/xml"), ("Content-Length", str(len(answer)))])
    return [answer.encode()]


def _send(status: int, answer: object, start_response: StartResponse) -> Iterable[bytes]:
    body = json.dumps(answer).encode()
    headers = [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(body)))]
    start_response(f"{status} Answer", headers)
    return [body]


def _end(number: int, frame: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    run_simple("127.0.0.1", int(sys.argv[1]), AwsApp(), threaded=True, request_handler=MotoRequestHandler)
