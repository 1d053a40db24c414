"""Collects packages for an image of one's own.

    python3 add_packages.py --out FILE --work DIR [--included NAME==VERSION]... -- WANTED...

WANTED are requirements files, wheels, and directories of wheels. FILE gets those packages and what they need beyond the
included ones, as sources (package_steps.py tells its form); DIR is for what is only needed meanwhile.

Standard output speaks as build.py's does.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import zipfile

import package_steps
from sources import PURE, BuildError

# Endings of files that only a machine's own loader can use.
NATIVE = (".so", ".pyd", ".dylib", ".dll")
# Of one package, unpacked: all are held in memory while they are compiled.
MOST_BYTES = 512 << 20
# For Linux on this processor or another: whether a package that has no pure wheel has a native one.
NATIVE_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_5_x86_64", "manylinux1_x86_64")
DESCRIPTIONS = {"METADATA", "entry_points.txt"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--included", action="append", default=[])
    parser.add_argument("wanted", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        collect(arguments)
    except BuildError as error:
        print("@error", " ".join(str(error).split()), flush=True)
        sys.exit(1)


def collect(arguments):
    included = dict(entry.split("==", 1) for entry in arguments.included)
    wanted, folders = pip_arguments(arguments.wanted)
    print("@step 1/2 10 Fetching the packages", flush=True)
    wheels = fetch(arguments.work, included, wanted, folders)
    for wheel in wheels:
        name, version = check(wheel, included)
        instead = f", instead of {included[name]}" if name in included else ""
        print(f"Adding {name} {version}{instead}", file=sys.stderr)
    print("@step 2/2 5 Unpacking the packages", flush=True)
    tree = arguments.work / "tree"
    tree.mkdir()
    for wheel in wheels:
        package_steps.unpack_wheel(wheel, tree, DESCRIPTIONS)
    if not any(tree.iterdir()):
        raise BuildError("all that is asked for is in the default image already")
    package_steps.write(tree, arguments.out)


def pip_arguments(wanted):
    """Returns the requirements and files that pip fetches, and the directories where it finds wheels."""
    words, folders = [], []
    for path in wanted:
        if path.is_dir():
            wheels = sorted(path.glob("*.whl"))
            if not wheels:
                raise BuildError(f"{path} has no wheels (*.whl) in it")
            folders.append(path)
        elif path.suffix == ".whl":
            wheels = [path]
        else:
            wheels = []
            words += ["--requirement", path]
        if not path.exists():
            raise BuildError(f"there is no file {path}")
        for wheel in wheels:
            check_tag(wheel)
        words += wheels
    return words, folders


def fetch(work, included, wanted, folders):
    """The wheels of what is wanted and of what it needs."""
    standins = work / "included"
    standins.mkdir()
    for name, version in included.items():
        stand_in(standins, name, version)
    constraints = work / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in included.items()))
    found = work / "wheels"
    find = [word for folder in (standins, *folders) for word in ("--find-links", folder)]
    command = ["--dest", found, *PURE, *find, *wanted]
    # Other versions than the included ones only where nothing else will do.
    if pip(["--constraint", constraints, *command]).returncode:
        said = pip(command)
        if said.returncode:
            raise BuildError(reason(said.stderr, work, included))
    ours = {wheel.name for wheel in standins.iterdir()}
    return sorted(wheel for wheel in found.glob("*.whl") if wheel.name not in ours)


def pip(words):
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", *options, *(str(word) for word in words)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def stand_in(folder, name, version):
    """Tells pip that a package is there."""
    stem = f"{re.sub(r'[-_.]+', '_', name)}-{version}"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: proofbox\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(f"{stem}.dist-info/{file}", text)


def reason(said, work, included):
    """Returns why pip failed; of a package without a pure wheel, whether it has native ones."""
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR")]
    missing = re.search(r"No matching distribution found for ([^\s(;]+)", said)
    if not missing:
        return "pip could not fetch the packages: " + ("; ".join(errors) or said.strip()[-500:] or "it gave no reason")
    wanted = missing[1]
    name = re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", wanted)[0]).lower()
    if name in included:
        return f"{wanted}: the default image has {name} {included[name]} and there is no version of it without native code to take its place"
    probe = work / "probe"
    platforms = [word for platform in NATIVE_PLATFORMS for word in ("--platform", platform)]
    native = pip(["--no-deps", "--python-version", "3.13", "--implementation", "cp", *platforms, "--dest", probe, wanted])
    if native.returncode == 0:
        (wheel,) = probe.iterdir()
        return f"{wanted}: {native_code(wheel)}"
    return (
        f"{wanted}: there is no wheel of it for this Python. It may not exist, or only as a source: then make a wheel with "
        f"`pip wheel --no-deps {wanted}` and name that file"
    )


def native_code(wheel):
    return f"it has native code ({wheel.name}), which would have to be compiled for WebAssembly and linked into the interpreter; only packages of pure Python can be added"


def check_tag(wheel):
    if not wheel.name.endswith("-none-any.whl"):
        raise BuildError(f"{wheel.name.split('-')[0]}: {native_code(wheel)}")


def check(wheel, included):
    """Name and version of a wheel; what can't be in an image is refused."""
    name, version = wheel.name.split("-")[:2]
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name in package_steps.FROZEN:
        raise BuildError(f"{name} {version}: {name} is part of the interpreter, in version {included.get(name)}, and can't be another")
    try:
        with zipfile.ZipFile(wheel) as archive:
            files = archive.infolist()
    except zipfile.BadZipFile as error:
        raise BuildError(f"{name}: {wheel.name} is no wheel: {error}") from error
    if native := next((file.filename for file in files if file.filename.endswith(NATIVE)), None):
        raise BuildError(f"{name}: it has native code ({native}), which can't be loaded in WebAssembly")
    if (size := sum(file.file_size for file in files)) > MOST_BYTES:
        raise BuildError(f"{name}: it takes {size >> 20} MiB unpacked; a package may take {MOST_BYTES >> 20} MiB")
    return name, version


if __name__ == "__main__":
    main()
