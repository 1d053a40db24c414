"""Fetches the sources: archives that runtime.toml pins, by the package clients."""

import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys


class BuildError(Exception):
    """Failure of the build, in one sentence: what went wrong and what to do about it."""


class Source:
    """An archive that the recipe pins."""

    def __init__(self, entry):
        self.name = entry["name"]
        self.version = entry["version"]
        self.origin = entry["from"]
        self.package = entry.get("package", self.name)
        self.package_version = entry.get("package_version", self.version)
        self.suite = entry.get("suite")
        self.machine = entry.get("machine")
        self.backend = entry.get("backend")
        # Directory of a library's tree that the archive is unpacked into (extension_steps.py).
        self.below = entry.get("below")
        self.archive = entry["archive"]
        self.sha256 = entry["sha256"]

    def check(self, path):
        found = sha256_of_file(path)
        if found != self.sha256:
            raise BuildError(
                f"{path} is not the archive this runtime is built from: its SHA-256 is {found} and runtime.toml "
                f"says {self.sha256}; delete it, or replace it by the right one"
            )


def sha256_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_sources(build):
    """Puts every archive into work/sources, its hash checked: from --sources, or else with the package clients."""
    for source in build.missing_sources():
        fetch = FETCH[source.origin]
        with build.scratch() as scratch:
            found = build.given(source) or fetch(build, source, scratch)
            if found is None or not found.is_file():
                raise BuildError(
                    f"{source.archive} is not what the package client fetched for {source.package}; its index may "
                    f"have moved on, so put that archive into a directory and name it with --sources"
                )
            source.check(found)
            kept = build.archive(source.name)
            kept.parent.mkdir(exist_ok=True)
            partial = kept.with_name(kept.name + ".partial")
            shutil.copyfile(found, partial)
            os.replace(partial, kept)


PURE = ["--platform", "any", "--implementation", "py", "--abi", "none", "--python-version", "3.13"]


def fetch_from_pypi(build, source, scratch):
    # For the Python that is built: without being told, pip takes what suits this machine's.
    pure = PURE if source.archive.endswith("-none-any.whl") else []
    build.run(
        f"downloading {source.name}",
        [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", *pure, "--dest", scratch,
         f"{source.package}=={source.version}"],
        environment=os.environ,
    )
    return scratch / source.archive


# Asked for a source archive, pip wants its metadata, and would build them with what the package builds itself with.
STAND_IN_BACKEND = """\
import os
class Backend:
    def get_requires_for_build_wheel(self, config_settings=None):
        return []
    def prepare_metadata_for_build_wheel(self, directory, config_settings=None):
        os.mkdir(os.path.join(directory, "{folder}"))
        with open(os.path.join(directory, "{folder}", "METADATA"), "w") as file:
            file.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        return "{folder}"
    def build_wheel(self, *arguments, **options):
        raise SystemExit("only the metadata")
    build_sdist = get_requires_for_build_sdist = build_wheel
__legacy__ = Backend()
__all__ = [name for name in dir(Backend) if name[0] != "_"]
for name in __all__:
    globals()[name] = getattr(__legacy__, name)
"""


def fetch_from_pypi_as_source(build, source, scratch):
    *packages, module = source.backend.split(".")
    folder = scratch / "backend"
    for package in ["", *packages]:
        folder = folder / package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    metadata = f"{source.package.replace('-', '_')}-{source.package_version}.dist-info"
    (folder / f"{module}.py").write_text(
        STAND_IN_BACKEND.format(name=source.package, version=source.package_version, folder=metadata)
    )
    build.run(
        f"downloading {source.name}",
        [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
         "--dest", scratch, f"{source.package}=={source.version}"],
        environment={**os.environ, "PYTHONPATH": str(scratch / "backend")},
    )
    return scratch / source.archive


def fetch_crate(build, source, scratch):
    (scratch / "src").mkdir()
    (scratch / "src/lib.rs").touch()
    (scratch / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
        f'{source.package} = {{ version = "={source.package_version}", default-features = false }}\n'
    )
    build.run(f"downloading {source.package}", ["cargo", "fetch"], cwd=scratch, environment=os.environ)
    cargo_home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    return next(cargo_home.glob(f"registry/cache/*/{source.archive}"), None)


def fetch_from_debian(build, source, scratch):
    """`apt-get source` with lists and caches of our own, so that neither root nor the machine's apt state is needed."""
    private = build.work / "apt" / source.suite
    for folder in ("lists/partial", "cache/archives/partial"):
        (private / folder).mkdir(parents=True, exist_ok=True)
    (private / "status").touch()
    (private / "debian.sources").write_text(
        f"Types: deb-src\nSuites: {source.suite}\nComponents: main\n{debian_mirror()}"
    )
    options = {
        "Dir::Etc::sourcelist": private / "debian.sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": private / "lists",
        "Dir::State::status": private / "status",
        "Dir::Cache": private / "cache",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        # Root's apt hands the download to a user who may not enter our directory.
        "APT::Sandbox::User": "root",
        # Without it a failed download is only a warning.
        "APT::Update::Error-Mode": "any",
        "APT::Update::Post-Invoke": "",
        "APT::Update::Post-Invoke-Success": "",
        "DPkg::Post-Invoke": "",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]
    if source.suite not in build.updated_suites:
        build.run("reading Debian's package lists", [*apt, "update"], environment=os.environ)
        build.updated_suites.add(source.suite)
    build.run(
        f"downloading {source.package}",
        [*apt, "source", "--download-only", "--tar-only", source.package],
        cwd=scratch,
        environment=os.environ,
    )
    return scratch / source.archive


def debian_mirror():
    """The machine's own Debian mirror, as lines of a deb822 entry."""
    query = ["apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    answer = dict(word.split("=", 1) for word in shlex.split(subprocess.check_output(query, text=True)))
    parts = pathlib.Path(answer.get("PARTS", "/nonexistent"))
    one_line = [pathlib.Path(answer.get("LIST", "/nonexistent")), *sorted(parts.glob("*.list"))]
    entries = [
        entry
        for files, read in ((sorted(parts.glob("*.sources")), deb822_entries), (one_line, one_line_entries))
        for file in files
        if file.is_file()
        for entry in read(file.read_text(errors="replace"))
    ]
    for entry in entries:
        suites, components = entry.get("suites", "").split(), entry.get("components", "").split()
        is_archive = any("-" not in suite for suite in suites) and "main" in components
        if is_archive and "debian" in entry.get("uris", "") and entry.get("enabled", "yes") != "no":
            wanted = {"uris": "URIs", "signed-by": "Signed-By", "trusted": "Trusted"}
            return "".join(f"{wanted[key]}: {entry[key]}\n" for key in wanted if key in entry)
    raise BuildError(
        "this machine's apt sources name no Debian mirror; put the .orig.tar archives that runtime.toml lists into "
        "a directory and name it with --sources"
    )


def deb822_entries(text):
    """Paragraphs of `Field: value`, continued on indented lines."""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
        fields = re.findall(r"(?m)^([\w-]+):[ \t]*(.*(?:\n[ \t]+.*)*)", paragraph)
        yield {name.lower(): value.rstrip() for name, value in fields}


def one_line_entries(text):
    """`deb [signed-by=... other=...] uri suite component...`"""
    for options, uri, suite, components in re.findall(r"(?m)^\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)([^#\n]*)", text):
        fields = dict(option.split("=", 1) for option in options.split() if "=" in option)
        yield {**fields, "uris": uri, "suites": suite, "components": components}


FETCH = {
    "pypi": fetch_from_pypi,
    "pypi-source": fetch_from_pypi_as_source,
    "debian": fetch_from_debian,
    "crate": fetch_crate,
}
