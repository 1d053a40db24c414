"""Writes the licence texts in archives and folders, each once, with the names of those that have it; then the licences
of those that have no text.

Standard input has lines `name<TAB>licence<TAB>path`: an archive (wheel, ZIP or tar file), or the folder of a package.
"""

import pathlib
import re
import sys
import tarfile
import zipfile

NAME = re.compile(r"(un)?licen[cs]es?|copying|notice|copyright|authors", re.IGNORECASE)
TEXTS = {"", ".txt", ".md", ".rst", ".html"}
MAX_BYTES = 1 << 20


def is_licence(path):
    path = pathlib.PurePosixPath(path)
    match = NAME.match(path.name)
    # LICENSE, LICENSE-MIT, LICENSE.txt, COPYING.0BSD; neither license.py nor licensed.txt.
    return bool(match) and not path.name[match.end() :][:1].isalpha() and (
        path.suffix.lower() in TEXTS or path.name.isupper() or "-" in path.name
    )


def texts_in(path):
    if path.is_dir():
        found = [file for file in sorted(path.glob("*")) + sorted(path.glob("LICENSES/*")) if file.is_file()]
        yield from (file.read_bytes() for file in found if is_licence(file.name) or file.parent != path)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir() and info.file_size <= MAX_BYTES]
            yield from (archive.read(info) for info in infos if is_licence(info.filename))
    else:
        with tarfile.open(path) as archive:
            for info in archive:
                if info.isfile() and info.size <= MAX_BYTES and is_licence(info.name):
                    yield archive.extractfile(info).read()


def main():
    owners = {}
    without = []
    for line in sys.stdin:
        name, licence, path = line.rstrip("\n").split("\t")
        before = sum(map(len, owners.values()))
        for content in texts_in(pathlib.Path(path)):
            text = content.decode("utf-8", "replace").replace("\r\n", "\n").strip()
            if text:
                owners.setdefault(text, {})[name] = None
        if sum(map(len, owners.values())) == before:
            without.append(f"{name}: {licence}")
    for text, names in owners.items():
        print("=" * 100, ", ".join(names), "=" * 100, text, "", sep="\n")
    print("=" * 100, "Packages that have no text, with the licences that they name", "=" * 100, *without, sep="\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdin.reconfigure(encoding="utf-8")
    main()
