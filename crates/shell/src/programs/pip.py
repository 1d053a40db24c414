"""`pip` in a sandbox: pip itself, without network. Wheels are the operator's (/usr/share/wheels) and the sandbox's own files."""

import os
import sys

WHEELS = "/usr/share/wheels"
NO_NETWORK = "ERROR: There is no network here: only wheels in {} and of this sandbox's own files can be installed."
# Options with a value behind them.
VALUES = {"-c", "--constraint", "--timeout", "--retries", "-i", "--index-url", "--extra-index-url", "--trusted-host"}
# Where pip is to do more than look whether all is there.
OTHERWISE = (
    "-r", "--req", "-e", "--ed", "-t", "--ta", "-f", "--fi", "-I", "--ig", "--force", "--root", "--prefix", "--dry", "--report",
    "-U", "--up", "--group",
)  # fmt: skip
# Unless the caller's environment says otherwise.
DEFAULTS = {
    "NO_INDEX": "1", "FIND_LINKS": WHEELS, "NO_CACHE_DIR": "1", "DISABLE_PIP_VERSION_CHECK": "1", "ROOT_USER_ACTION": "ignore",
    "NO_COLOR": "1", "NO_WARN_SCRIPT_LOCATION": "1",
}  # fmt: skip


def satisfied(words):
    """Returns the output of `install` where all requirements are there already, which is found out without pip; else
    None."""
    import importlib.metadata

    from packaging.requirements import InvalidRequirement, Requirement

    lines, words = [], iter(words)
    for word in words:
        if word in VALUES:
            next(words, None)
        elif word.startswith(OTHERWISE):
            return None
        elif not word.startswith("-"):
            try:
                wanted = Requirement(word)
                version = importlib.metadata.version(wanted.name)
            except (InvalidRequirement, importlib.metadata.PackageNotFoundError):
                return None
            if wanted.marker or wanted.extras or wanted.url or not wanted.specifier.contains(version, prereleases=True):
                return None
            lines.append(f"Requirement already satisfied: {word} ({version})")
    return lines or None


def has_user_directory():
    """Packages are installed below the user's home directory, as on other systems: CPython has no such place for WASI."""
    import site
    import sysconfig

    base = os.path.expanduser("~/.local")
    library = f"{base}/lib/python{sys.version_info.major}.{sys.version_info.minor}"
    sysconfig._INSTALL_SCHEMES["posix_user"] = {
        "stdlib": library, "platstdlib": library, "purelib": f"{library}/site-packages", "platlib": f"{library}/site-packages",
        "include": f"{base}/include", "scripts": f"{base}/bin", "data": base,
    }  # fmt: skip
    site.ENABLE_USER_SITE, site.USER_BASE, site.USER_SITE = True, base, f"{library}/site-packages"


def main(arguments):
    installs = arguments[:1] == ["install"]
    if installs and (lines := satisfied(arguments[1:])):
        if not {"-q", "--quiet", "-qq"}.intersection(arguments):
            print(*lines, sep="\n")
        return 0
    has_user_directory()
    for name, value in DEFAULTS.items():
        os.environ.setdefault(f"PIP_{name}", value)
    sys.argv[:] = ["pip", *arguments]
    from pip._internal.cli.main import main as run

    code = run(arguments)
    if installs and code:
        print(NO_NETWORK.format(WHEELS), file=sys.stderr)
    return code


sys.exit(main(sys.argv[1:]))
