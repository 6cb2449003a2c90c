"""A Spark session that is driven by JSON lines; run by `spark` on an interpreter whose path has PySpark.

The arguments are the file descriptors to read requests from and to write answers to: standard output is Spark's.
"""

import datetime
import decimal
import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    requests, answers = (os.fdopen(int(number), mode) for number, mode in zip(sys.argv[1:], "rw", strict=True))
    from pyspark.errors import PySparkException  # type: ignore[import-not-found,unused-ignore]
    from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]

    def answer(**said: Any) -> None:
        print(json.dumps(said, default=plain), file=answers, flush=True)

    builder = SparkSession.builder
    for key, value in json.loads(requests.readline()).items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("WARN")
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}", condition=None, details=traceback.format_exc())
        return
    answer(version=session.version)
    for line in requests:
        statement = json.loads(line)
        try:
            table = session.sql(statement)
            answer(columns=table.columns, rows=[list(row) for row in table.collect()])
        except Exception as error:
            condition = error.getErrorClass() if isinstance(error, PySparkException) else None
            answer(error=str(error), condition=condition, details=traceback.format_exc())
    session.stop()


def plain(value: Any) -> Any:
    """A value that JSON does not know, as a string; a struct is a list already, as a tuple is."""
    if isinstance(value, datetime.date | datetime.time | datetime.datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return str(value)


if __name__ == "__main__":
    main()
