"""Clients that are in no package index: files of their repositories at pinned commits, unmodified. They come from GitHub, or
from PROOFBOX_CLIENT_SOURCES, a folder with git repositories (bare or not) of these names."""

import hashlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest.mock
from dataclasses import dataclass


# Longest time of one step of git, in seconds.
FETCH_SECONDS = 120


@dataclass(frozen=True)
class Source:
    """Files of a repository at a commit, with the SHA-256 of all of them."""

    repository: str
    commit: str
    paths: tuple
    sha256: str

    @property
    def name(self):
        return self.repository.split("/")[1]

    def unpack(self):
        """Unpacks the files below the cache directory, and returns the folder."""
        base = os.environ.get("PROOFBOX_CACHE_DIR") or os.path.expanduser("~/.cache/proofbox")
        tools = pathlib.Path(base, "test-tools")
        tools.mkdir(parents=True, exist_ok=True)
        folder = tools / f"{self.name}-{self.commit[:16]}-{self.sha256[:16]}"
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=tools) as work:
                files = pathlib.Path(work, "files")
                with tarfile.open(fileobj=io.BytesIO(self.archive(work))) as archive:
                    archive.extractall(files, filter="data")
                found = hash_files(files)
                assert found == self.sha256, f"the files of {self.name} have the SHA-256 {found}, not {self.sha256}"
                try:
                    files.rename(folder)
                except OSError:
                    # Somebody was faster.
                    assert folder.exists()
        return folder

    def archive(self, work):
        sources = os.environ.get("PROOFBOX_CLIENT_SOURCES")
        repository = pathlib.Path(sources, self.name) if sources else pathlib.Path(work, "repository")
        if not sources:
            try:
                git(["init", "--quiet", "--bare", repository])
                git(["-C", repository, "fetch", "--quiet", "--depth", "1", f"https://github.com/{self.repository}", self.commit])
            except (OSError, subprocess.SubprocessError):
                print(f"NOT CHECKED: {self.repository} can't be fetched; PROOFBOX_CLIENT_SOURCES may be a folder with {self.name} at {self.commit}")
                sys.exit(0)
        return git(["-C", repository, "archive", "--format=tar", self.commit, *self.paths])


def git(arguments):
    return subprocess.run(["git", "-c", "safe.directory=*", *map(str, arguments)], check=True, stdout=subprocess.PIPE, timeout=FETCH_SECONDS).stdout


def hash_files(folder):
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def stand_in(*names):
    """Puts something without meaning in the place of modules that a file imports, and whose names the test does not use."""
    for name in names:
        module = unittest.mock.MagicMock(name=name)
        module.__path__ = []
        module.__spec__ = importlib.util.spec_from_loader(name, loader=None)
        sys.modules[name] = module


def parent(name, folder, **names):
    """Puts a package in place that has its modules and these names, and does not run its own `__init__.py`."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    vars(module).update(names)
    sys.modules[name] = module


OPEN_INSTRUCT = Source(
    "allenai/open-instruct", "e6c3044aa6201c8bfa4573c1b03142af599e730d",
    (
        "open_instruct/__init__.py", "open_instruct/logger_utils.py", "open_instruct/ground_truth_utils.py",
        "open_instruct/code_utils/code_utils.py", "open_instruct/code_utils/testing_util.py",
        "open_instruct/test_data/acecode_sample.jsonl",
    ),
    "42fa392ec917eb89bdc7fe0b76fe98384611655777f0874b76f157ab73d396b0",
)  # fmt: skip
OPEN_R1 = Source(
    "huggingface/open-r1", "1416fa0cf21595d2083b399a2a0bbddd7f6e9563",
    (
        "src/open_r1/rewards.py", "src/open_r1/utils/code_providers.py", "src/open_r1/utils/routed_sandbox.py",
        "src/open_r1/utils/routed_morph.py",
    ),
    "7a20a8cf5791746f61097a5d9225ceb0e5a26520fa015a97758b239437d130b7",
)  # fmt: skip
NEMO_SKILLS = Source(
    "NVIDIA/NeMo-Skills", "0b012df8a09cd4730d31b16e90a0d8f13d145fb8",
    (
        "nemo_skills/__init__.py", "nemo_skills/version.py", "nemo_skills/utils.py", "nemo_skills/file_utils.py",
        "nemo_skills/code_execution", "nemo_skills/prompt/__init__.py", "nemo_skills/prompt/few_shot_examples", "tests/test_code_execution.py",
    ),
    "f9d1b35e6dfc97536c562e8c839fcd2a1ccce24b7f9e1a48d0f5cbcf931ef345",
)  # fmt: skip
OPENENV = Source(
    "meta-pytorch/OpenEnv", "685de411e5f77286b0fd94798d42c4467cf8a1bc",
    ("envs/coding_env/__init__.py", "envs/coding_env/client.py", "envs/coding_env/models.py"),
    "08d8e80ae2cf184ea2c1bf0736e3d1c2fed4716eb07363bbdc8f06396a1f0691",
)  # fmt: skip
