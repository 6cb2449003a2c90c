"""AWS Glue and S3 (and the rest of AWS), as far as moto plays them."""

import importlib.util
import os
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tests.servers.process import HOST, ProcessServer, ServerError, http_answers

REGION = "us-east-1"
ACCESS_KEY_ID = "test"
SECRET_ACCESS_KEY = "test"


class MotoServer(ProcessServer):
    """moto in server mode. It holds everything in memory: a stop forgets it all."""

    name: ClassVar[str] = "moto"
    region: ClassVar[str] = REGION
    access_key_id: ClassVar[str] = ACCESS_KEY_ID
    secret_access_key: ClassVar[str] = SECRET_ACCESS_KEY

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def credentials(self) -> dict[str, str]:
        """The environment variables with which an AWS client in another process uses this server."""
        return {
            "AWS_ENDPOINT_URL": self.uri,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
        }

    def client(self, service: str) -> Any:
        """A boto3 client (`glue`, `s3`, ...) of this server."""
        import boto3  # type: ignore[import-untyped,unused-ignore]

        make_client: Any = boto3.client
        return make_client(
            service,
            endpoint_url=self.uri,
            region_name=self.region,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
        )

    def create_bucket(self, name: str) -> str:
        """Create a bucket and return its address."""
        self.client("s3").create_bucket(Bucket=name)
        return f"s3://{name}"

    def reset(self) -> None:
        """Forget everything, as after a restart."""
        request = urllib.request.Request(f"{self.uri}/moto-api/reset", method="POST")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10):
            pass

    def prepare(self) -> None:
        if importlib.util.find_spec("moto") is None:
            raise ServerError("the package moto is not installed: run `make venv`")

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self.port)]

    def environment(self) -> Mapping[str, str]:
        # What the caller's environment says about AWS is about the real one.
        return {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "MOTO_"))}

    def answers(self) -> bool:
        return http_answers(f"{self.uri}/moto-api/data.json")
