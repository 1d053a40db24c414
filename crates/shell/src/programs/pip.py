"""What `pip` answers in a sandbox without network."""

import importlib.metadata
import sys

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

VERSION = "pip 25.0 (of this sandbox: it has no network, so nothing can be installed)"
NO_NETWORK = "ERROR: There is no network here: packages cannot be installed."
# Options with a value behind them.
VALUES = {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target", "-c", "--constraint", "--timeout", "--retries"}


def fail(*lines):
    print(*lines, sep="\n", file=sys.stderr)
    return 1


def versions():
    found = ((dist.name, dist.version) for dist in importlib.metadata.distributions() if dist.name)
    return {canonicalize_name(name): (name, version) for name, version in sorted(found)}


def lines_of(path):
    with open(path) as file:
        for line in file:
            line = line.partition(" #")[0].strip()
            if line and not line.startswith(("#", "-")):
                yield line.partition(" --hash")[0].rstrip(" \\")


def requirements(words):
    """Names of what is to be installed, from the command line and from files."""
    words = iter(words)
    for word in words:
        if word in ("-r", "--requirement"):
            yield from lines_of(next(words, ""))
        elif word.startswith(("-r", "--requirement=")):
            yield from lines_of(word.removeprefix("--requirement=").removeprefix("-r"))
        elif word in VALUES:
            next(words, None)
        elif not word.startswith("-"):
            yield word


def install(words):
    there, missing = versions(), []
    for word in requirements(words):
        try:
            wanted = Requirement(word)
        except InvalidRequirement:
            return fail(f"ERROR: Invalid requirement: {word!r}")
        name, version = there.get(canonicalize_name(wanted.name), (wanted.name, None))
        if wanted.marker is not None and not wanted.marker.evaluate():
            print(f"Ignoring {wanted.name}: markers {str(wanted.marker)!r} don't match your environment")
        elif version is not None and wanted.specifier.contains(version, prereleases=True):
            print(f"Requirement already satisfied: {word} ({version})")
        else:
            missing.append((word, version or "none"))
    if not missing:
        return 0
    said = [
        f"ERROR: Could not find a version that satisfies the requirement {word} (from versions: {known})\n"
        f"ERROR: No matching distribution found for {word}"
        for word, known in missing
    ]
    return fail(*said, NO_NETWORK)


def show(names):
    there = versions()
    missing = [name for name in names if canonicalize_name(name) not in there]
    for name in names:
        if name not in missing:
            shown, version = there[canonicalize_name(name)]
            summary = importlib.metadata.metadata(shown)["Summary"] or ""
            print(f"Name: {shown}\nVersion: {version}\nSummary: {summary}")
    if missing:
        print(f"WARNING: Package(s) not found: {', '.join(missing)}", file=sys.stderr)
    return int(len(missing) == len(names))


def main(arguments):
    command, words = (arguments[0], arguments[1:]) if arguments else ("help", [])
    match command:
        case "--version" | "-V":
            print(VERSION)
        case "freeze":
            for name, version in versions().values():
                print(f"{name}=={version}")
        case "list":
            rows = [("Package", "Version"), *versions().values()]
            widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
            for row in (rows[0], tuple("-" * width for width in widths), *rows[1:]):
                print(f"{row[0]:{widths[0]}} {row[1]}")
        case "show":
            return show([word for word in words if not word.startswith("-")])
        case "install":
            return install(words)
        case "check":
            print("No broken requirements found.")
        case "help" | "--help" | "-h":
            print("Usage: pip <install|list|freeze|show|check> [options]\n\n" + VERSION)
        case _:
            return fail(NO_NETWORK)
    return 0


sys.exit(main(sys.argv[1:]))
