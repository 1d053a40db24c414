"""NLTK's data, which it would download: put together from packages that contain it, where NLTK looks first (packages.toml).

The stop words and the models of Punkt are NLTK's own files. The lexicon of VADER is its author's, which NLTK's is a copy of.
The tagger is the one that NLTK's was made after, by the same program from the same kind of text: it takes some words otherwise.
The words are those of Webster's Second, as in NLTK's list, of a later edition (84 more).
"""

import io
import json
import pathlib
import pickle
import zipfile

from sources import BuildError

# Where `nltk.data.path` begins.
DIRECTORY = "nltk/nltk_data"
TAGGER = "averaged_perceptron_tagger_eng"
# What the tagger calls brackets, and what everybody does.
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}


def make(archives, tree):
    """Writes the data below the tree, from wheels by the name of their package."""
    folder = tree / DIRECTORY
    with zipfile.ZipFile(archives["llama-index-core"]) as wheel:
        for part in ("corpora/stopwords", "tokenizers/punkt_tab"):
            copy(wheel, f"llama_index/core/_static/nltk_cache/{part}/", folder / part)
    with zipfile.ZipFile(archives["vaderSentiment"]) as wheel:
        # NLTK names the archive and the file in it.
        lexicon = archive("vader_lexicon/vader_lexicon.txt", wheel.read("vaderSentiment/vader_lexicon.txt"))
        write(folder / "sentiment/vader_lexicon.zip", lexicon)
    with zipfile.ZipFile(archives["english-words"]) as wheel:
        words = unpickled(wheel, "english_words/data/web2.pickle")
        text = "".join(f"{word}\n" for word in sorted(words, key=lambda word: (word.lower(), word)))
        write(folder / "corpora/words/en", text.encode())
    with zipfile.ZipFile(archives["textblob-aptagger"]) as wheel:
        weights, tags, classes = unpickled(wheel, "textblob_aptagger/trontagger-0.1.0.pickle")
        parts = {
            "weights": {feature: renamed(by_tag) for feature, by_tag in weights.items()},
            "tagdict": {word: BRACKETS.get(tag, tag) for word, tag in tags.items()},
            "classes": sorted(BRACKETS.get(tag, tag) for tag in classes),
        }
        for part, content in parts.items():
            text = json.dumps(content, sort_keys=True, separators=(",", ":"))
            write(folder / f"taggers/{TAGGER}/{TAGGER}.{part}.json", text.encode())


def renamed(by_tag):
    return {BRACKETS.get(tag, tag): weight for tag, weight in by_tag.items()}


def copy(wheel, prefix, target):
    found = [name for name in wheel.namelist() if name.startswith(prefix) and not name.endswith("/")]
    if not found:
        raise BuildError(f"{pathlib.Path(wheel.filename).name} has no {prefix}; adapt nltk_data.py to the version")
    for name in found:
        write(target / name.removeprefix(prefix), wheel.read(name))


def archive(name, content):
    """A ZIP archive of one file, which is the same whenever it is made."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        file.writestr(entry, content)
    return out.getvalue()


class _Plain(pickle.Unpickler):
    """Takes containers, texts and numbers only."""

    def find_class(self, module, name):
        if name == "set":
            return set
        raise BuildError(f"a pickle of NLTK's data asks for {module}.{name}")


def unpickled(wheel, name):
    return _Plain(io.BytesIO(wheel.read(name)), encoding="utf-8").load()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
