"""Fetches jars, archives and Python packages, each once for the user, into `$XDG_CACHE_HOME/headwater/artifacts`.

Jars come through Maven where it is installed, so that the machine's settings (mirrors, credentials) are used, else
through the Ivy that PySpark brings, with the settings file that `IVY_SETTINGS` names if there is one. Python packages
come through pip. An entry of the cache appears by one rename when it is complete; processes that want the same one wait
for each other.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tests.servers.coordinates import PYSPARK, Jars
from tests.servers.process import ServerError

FETCH_TIMEOUT = 1800


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headwater" / "artifacts"


def cached(name: str, content: object, build: Callable[[Path], None]) -> Path:
    """The cache's entry of this name, built by `build` in an empty folder if it is not there yet.

    `content` stands for what goes into it: another content makes another entry.
    """
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:10]
    entry = cache_folder() / f"{name}-{digest}"
    if entry.is_dir():
        return entry
    with locked(entry.name):
        if not entry.is_dir():
            # Left by a process that died; the lock says that nobody works on it now.
            partial = entry.with_name(f".{entry.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            try:
                build(partial)
                partial.rename(entry)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return entry


def jars(wanted: Jars) -> Path:
    """A folder with the jars."""
    return cached(wanted.name, wanted, lambda folder: _fetch(wanted, folder))


def class_path(wanted: Jars) -> list[Path]:
    return sorted(jars(wanted).glob("*.jar"))


def archive(coordinate: str, finish: Callable[[Path], None] | None = None) -> Path:
    """The unpacked content of a `tar.gz` artifact, without the one folder that everything in it lies in.

    `finish` may change the folder before anybody sees it.
    """
    _, artifact, version, *_ = coordinate.split(":")

    def build(folder: Path) -> None:
        packed, unpacked = folder / "packed", folder / "unpacked"
        packed.mkdir()
        _fetch(Jars(artifact, (coordinate,)), packed)
        (file,) = packed.iterdir()
        with tarfile.open(file) as tar:
            tar.extractall(unpacked, filter="tar")
        (top,) = unpacked.iterdir()
        for part in top.iterdir():
            part.rename(folder / part.name)
        shutil.rmtree(packed)
        shutil.rmtree(unpacked)
        if finish is not None:
            finish(folder)

    return cached(f"{artifact}-{version}", coordinate, build)


def python_packages(*requirements: str, finish: Callable[[Path], None] | None = None) -> Path:
    """A folder for PYTHONPATH with exactly these packages, without what they depend on.

    `finish` may change the folder before anybody sees it.
    """
    name = requirements[0].replace("==", "-")

    def build(folder: Path) -> None:
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-compile", "--no-deps"]
        target = ["--target", str(folder)]
        run("pip", [sys.executable, "-m", "pip", "install", *options, *target, *requirements], folder)
        if finish is not None:
            finish(folder)

    return cached(name, requirements, build)


def _fetch(wanted: Jars, folder: Path) -> None:
    # Neither Maven nor Ivy is sure to bear a second one on the same local repository.
    with locked("fetching"):
        if shutil.which("mvn"):
            _fetch_with_maven(wanted, folder)
        else:
            _fetch_with_ivy(wanted, folder)


def _fetch_with_maven(wanted: Jars, folder: Path) -> None:
    dependencies = [
        *(_maven_dependency(coordinate, transitive=False) for coordinate in wanted.exact),
        *(_maven_dependency(coordinate, transitive=True) for coordinate in wanted.transitive),
    ]
    project = (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>headwater</groupId><artifactId>artifacts</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{''.join(dependencies)}</dependencies></project>"
    )
    pom = folder.with_name(f"{folder.name}.pom")
    pom.write_text(project)
    command = ["mvn", "--batch-mode", "--quiet", "-f", str(pom), "dependency:copy-dependencies"]
    try:
        run("Maven", [*command, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"], folder)
    finally:
        pom.unlink()


def _maven_dependency(coordinate: str, *, transitive: bool) -> str:
    group, artifact, version, kind, classifier = _parts(coordinate)
    exclusion = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<type>{kind}</type>{f'<classifier>{classifier}</classifier>' if classifier else ''}"
        f"{'' if transitive else exclusion}</dependency>"
    )


def _fetch_with_ivy(wanted: Jars, folder: Path) -> None:
    from tests.servers.java import java
    from tests.servers.trust import java_options

    (ivy,) = (python_packages(*PYSPARK["3.5"]) / "pyspark" / "jars").glob("ivy-*.jar")
    module = (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="headwater" module="artifacts"/>'
        f"<dependencies>{''.join(_ivy_dependencies(wanted))}</dependencies></ivy-module>"
    )
    description = folder.with_name(f"{folder.name}.ivy.xml")
    description.write_text(module)
    settings = os.environ.get("IVY_SETTINGS")
    arguments = ["-jar", str(ivy), "-warn", *(("-settings", settings) if settings else ())]
    pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
    arguments += ["-ivy", str(description), "-confs", "default", "-retrieve", pattern]
    try:
        with java_options() as trust:
            run("Ivy", [str(java()), *trust, *arguments], folder)
    finally:
        description.unlink()


def _ivy_dependencies(wanted: Jars) -> Iterator[str]:
    # Ivy takes one entry a module, which names all of its files.
    files: dict[tuple[str, str, str], list[str]] = {}
    for coordinate in (*wanted.exact, *wanted.transitive):
        group, artifact, version, kind, classifier = _parts(coordinate)
        mark = f" m:classifier={quoteattr(classifier)}" if classifier else ""
        file = f'<artifact name={quoteattr(artifact)} type="{kind}" ext="{kind}"{mark}/>'
        files.setdefault((group, artifact, version), []).append(file)
    transitive = {_parts(coordinate)[:3] for coordinate in wanted.transitive}
    for module, named in files.items():
        group, artifact, version = map(quoteattr, module)
        rest = "true" if module in transitive else "false"
        yield (
            f'<dependency org={group} name={artifact} rev={version} transitive="{rest}" conf="default-&gt;default">'
            f"{''.join(named)}</dependency>"
        )


def _parts(coordinate: str) -> tuple[str, str, str, str, str]:
    group, artifact, version, kind, classifier = [*coordinate.split(":"), "", ""][:5]
    return group, artifact, version, kind or "jar", classifier


def run(tool: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run one of the programs that fetch or build, and say what it said if it fails."""
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=FETCH_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"{tool} cannot be run: {error}") from error
    if done.returncode != 0:
        raise ServerError(f"{tool} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Keep every other process out of what goes by this name."""
    locks = cache_folder() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
