"""The Trino that tests start: it keeps its data over a restart, and a catalog that it can't load is an error."""

from __future__ import annotations

import pytest

from tests import servers


def test_trino_reads_what_it_wrote_and_names_a_bad_catalog() -> None:
    with servers.hms31() as hms:
        lake = {"connector.name": "hive", "hive.metastore.uri": hms.uri, "fs.hadoop.enabled": "true"}
        with servers.trino(catalogs={"lake": lake}) as server:
            server.query("CREATE SCHEMA lake.d")
            server.query("CREATE TABLE lake.d.t AS SELECT 1 AS id, DATE '2024-05-06' AS day")
            server.stop()
            server.start()
            assert server.query("SELECT * FROM lake.d.t") == [[1, "2024-05-06"]]
            with pytest.raises(servers.TrinoError) as failure:
                server.query("SELECT * FROM lake.d.nothing")
            assert failure.value.name == "TABLE_NOT_FOUND"
        with pytest.raises(servers.ServerError, match=r"(?s)did not load the catalog lake.*no-such"):
            servers.trino(catalogs={"lake": {**lake, "no-such": "property"}})
