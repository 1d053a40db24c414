#!/usr/bin/env python3
"""Volumes through E2B's unmodified Python SDK: making them, their files, and sandboxes that mount them.

  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_VOLUME_API_URL=http://127.0.0.1:8080 \\
      E2B_API_KEY=e2b_<40 hex> python3 volumes.py

Prints `ok name` or `FAIL name  reason`, then `N passed, M failed`.
"""

import asyncio
import datetime
import io
import os
import time
import traceback
import uuid

from e2b import AsyncSandbox, AsyncVolume, NotFoundException, Sandbox, SandboxException, Volume
from e2b.exceptions import AuthenticationException, VolumeException

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def raises(kind, call, *arguments, contains="", **options):
    try:
        call(*arguments, **options)
    except kind as error:
        assert contains in str(error), str(error)
        return error
    raise AssertionError(f"nothing raised, expected {kind}")


class volume:
    """A new volume, removed at the end."""

    def __enter__(self):
        self.made = Volume.create(f"volume-{uuid.uuid4().hex[:12]}")
        return self.made

    def __exit__(self, *_):
        Volume.destroy(self.made.volume_id)


class sandbox:
    """A new sandbox, killed at the end."""

    def __init__(self, **options):
        self.options = options

    def __enter__(self):
        self.made = Sandbox.create(timeout=120, **self.options)
        return self.made

    def __exit__(self, *_):
        self.made.kill()


@check
def volumes_are_made_found_and_removed():
    made = Volume.create(name := f"made-{uuid.uuid4().hex[:12]}")
    assert made.name == name and made.token and made.volume_id
    info = Volume.get_info(made.volume_id)
    assert (info.volume_id, info.name, info.token) == (made.volume_id, name, made.token)
    assert (made.volume_id, name) in [(other.volume_id, other.name) for other in Volume.list()]
    Volume.connect(made.volume_id).write_file("/f", "x")
    raises(VolumeException, Volume.create, name, contains="already")
    raises(VolumeException, Volume.create, "no name")
    assert Volume.destroy(made.volume_id) is True
    assert Volume.destroy(made.volume_id) is False
    raises(NotFoundException, Volume.get_info, made.volume_id)
    raises(NotFoundException, Volume.get_info, "none")
    raises(AuthenticationException, made.read_file, "/f")


@check
def files_are_written_and_read():
    with volume() as v:
        info = v.write_file("/a.txt", "text")
        assert (info.name, info.type.value, info.path, info.size) == ("a.txt", "file", "/a.txt", 4)
        assert abs(datetime.datetime.now(datetime.timezone.utc) - info.mtime) < datetime.timedelta(minutes=1)
        assert v.read_file("/a.txt") == "text"
        large = bytes(range(256)) * 16_000
        v.write_file("large", io.BytesIO(large))
        assert v.read_file("/large", format="bytes") == large
        assert b"".join(v.read_file("large", format="stream")) == large
        v.write_file("/empty", b"")
        assert v.read_file("/empty", format="bytes") == b"" and v.get_info("/empty").size == 0
        raises(VolumeException, v.write_file, "/a.txt", "other", contains="exists")
        v.write_file("/a.txt", "other", force=True)
        assert v.read_file("a.txt") == "other"
        raises(NotFoundException, v.write_file, "/no/such/f", "x")
        raises(NotFoundException, v.read_file, "/none")
        raises(NotFoundException, lambda: list(v.read_file("/none", format="stream")))


@check
def directories_are_made_listed_and_removed():
    with volume() as v:
        assert v.make_dir("/d").type.value == "directory"
        raises(VolumeException, v.make_dir, "/d")
        v.make_dir("/d", force=True)
        raises(NotFoundException, v.make_dir, "/x/y")
        v.make_dir("/x/y", force=True)
        v.write_file("/x/y/f", "1")
        assert [entry.path for entry in v.list("/")] == ["/d", "/x"]
        assert [entry.path for entry in v.list("/", depth=3)] == ["/d", "/x", "/x/y", "/x/y/f"]
        assert [entry.name for entry in v.list("x/y")] == ["f"]
        raises(NotFoundException, v.list, "/none")
        assert v.exists("/x/y/f") and not v.exists("/x/z")
        v.remove("/x")
        assert [entry.name for entry in v.list("/")] == ["d"]
        raises(NotFoundException, v.remove, "/x")


@check
def attributes_are_set():
    with volume() as v:
        info = v.write_file("/f", "x", uid=1001, gid=1002, mode=0o600)
        assert (info.uid, info.gid, info.mode) == (1001, 1002, 0o600)
        info = v.update_metadata("/f", mode=0o755)
        assert (info.uid, info.gid, info.mode) == (1001, 1002, 0o755)
        info = v.make_dir("/d", uid=0, gid=0, mode=0o700)
        assert (info.uid, info.gid, info.mode & 0o777) == (0, 0, 0o700)
        raises(NotFoundException, v.update_metadata, "/none", mode=0o644)


@check
def a_volume_outlives_the_sandboxes_that_mount_it():
    with volume() as v:
        v.write_file("/in.txt", "from outside")
        with sandbox(volume_mounts={"/mnt/data": v}) as writer:
            assert writer.files.read("/mnt/data/in.txt") == "from outside"
            assert [m["name"] for m in writer.get_info().volume_mounts] == [v.name]
            writer.files.write("/mnt/data/hello.txt", "written by the writer")
            writer.commands.run("mkdir /mnt/data/d && echo deep > /mnt/data/d/f && ln -s d/f /mnt/data/l && rm /mnt/data/in.txt")
        assert v.read_file("/hello.txt") == "written by the writer"
        assert v.get_info("/l").target == "d/f" and not v.exists("/in.txt")
        with sandbox(volume_mounts={"/elsewhere": v.name}) as reader:
            assert reader.files.read("/elsewhere/hello.txt") == "written by the writer"
            assert reader.commands.run("cat /elsewhere/l").stdout == "deep\n"


@check
def files_of_a_mounted_volume_are_those_of_the_sandbox():
    with volume() as v:
        with sandbox(volume_mounts={"/mnt/data": v}) as s:
            s.files.write("/mnt/data/a", "from inside")
            assert v.read_file("/a") == "from inside"
            v.write_file("/b", "from outside", mode=0o600)
            assert s.files.read("/mnt/data/b") == "from outside"
            v.make_dir("/d/e", force=True)
            v.write_file("/d/e/f", "1")
            raises(VolumeException, v.write_file, "/b", "again", contains="exists")
            raises(NotFoundException, v.write_file, "/none/f", "x")
            assert s.commands.run("cat /mnt/data/d/e/f; stat -c %a /mnt/data/b").stdout == "1600\n"
            assert [entry.path for entry in v.list("/", depth=9)] == ["/a", "/b", "/d", "/d/e", "/d/e/f"]
            v.remove("/d")
            assert not s.files.exists("/mnt/data/d")
            raises(NotFoundException, v.read_file, "/d/e/f")
            # No link leads out of the volume.
            s.commands.run("echo secret > /home/user/s && ln -s /home/user /mnt/data/out && ln -s /home/user/s /mnt/data/s")
            for path in ["/out/s", "/s"]:
                raises(NotFoundException, v.read_file, path)
            raises(VolumeException, v.write_file, "/out/new", "x")
            assert v.get_info("/s").type.value == "symlink"
            v.remove("/s")
            v.remove("/out")
            assert s.files.read("/home/user/s") == "secret\n"
        assert [entry.path for entry in v.list("/", depth=9)] == ["/a", "/b"]
        assert v.get_info("/b").mode == 0o600


@check
def a_volume_has_one_writer():
    with volume() as v:
        with sandbox(volume_mounts={"/mnt/data": v}) as first:
            error = raises(SandboxException, Sandbox.create, volume_mounts={"/mnt/data": v})
            assert first.sandbox_id in str(error), error
            raises(VolumeException, Volume.destroy, v.volume_id, contains="mounted")
        with sandbox(volume_mounts={"/mnt/data": v}):
            pass
        raises(SandboxException, Sandbox.create, volume_mounts={"/mnt/data": "no-such-volume"})
        for path in ["relative", "/", "/etc"]:
            raises(SandboxException, Sandbox.create, volume_mounts={path: v})
        raises(SandboxException, Sandbox.create, volume_mounts={"/a": v, "/b": v})
        # Nothing of that has left it mounted.
        with sandbox(volume_mounts={"/mnt/data": v}):
            pass


@check
def a_paused_sandbox_keeps_its_volume():
    with volume() as v:
        with sandbox(volume_mounts={"/mnt/data": v}) as s:
            s.files.write("/mnt/data/a", "before")
            s.pause()
            assert v.read_file("/a") == "before"
            raises(VolumeException, v.write_file, "/b", "x", contains="mounted")
            raises(SandboxException, Sandbox.create, volume_mounts={"/mnt/data": v})
            s.connect()
            s.files.write("/mnt/data/a", "after")
            assert v.read_file("/a") == "after"
        assert v.read_file("/a") == "after"


@check
def a_sandbox_that_expires_brings_its_volume_back():
    with volume() as v:
        s = Sandbox.create(timeout=120, volume_mounts={"/mnt/data": v})
        s.files.write("/mnt/data/a", "kept")
        s.set_timeout(1)
        for _ in range(100):
            if not s.is_running():
                break
            time.sleep(0.1)
        assert v.read_file("/a") == "kept"
        v.write_file("/b", "free again")


@check
def snapshots_and_forks_have_copies():
    with volume() as v:
        with sandbox(volume_mounts={"/mnt/data": v}) as s:
            s.files.write("/mnt/data/a", "original")
            snapshot = s.create_snapshot()
            with sandbox(template=snapshot.snapshot_id) as copy:
                assert copy.files.read("/mnt/data/a") == "original"
                copy.files.write("/mnt/data/a", "copy")
                assert copy.get_info().volume_mounts == []
        assert v.read_file("/a") == "original"
        with sandbox(template=snapshot.snapshot_id, volume_mounts={"/mnt/data": v}) as other:
            assert other.files.read("/mnt/data/a") == "original"
            other.files.write("/mnt/data/b", "1")
        assert v.read_file("/b") == "1"


@check
def the_async_sdk_does_the_same():
    async def run():
        v = await AsyncVolume.create(f"async-{uuid.uuid4().hex[:12]}")
        await v.write_file("/a", "1")
        s = await AsyncSandbox.create(timeout=120, volume_mounts={"/mnt/data": v})
        assert await s.files.read("/mnt/data/a") == "1"
        await s.files.write("/mnt/data/b", "2")
        await s.kill()
        assert await v.read_file("/b") == "2"
        assert [entry.name for entry in await v.list("/")] == ["a", "b"]
        assert await AsyncVolume.destroy(v.volume_id)

    asyncio.run(run())


def main():
    failed = 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {name}")
        except BaseException as error:
            failed += 1
            print(f"FAIL {name}  {type(error).__name__}: {str(error)[:300]}")
            traceback.print_exc()
    print(f"{len(CHECKS) - failed} passed, {failed} failed", flush=True)
    # Without taking the interpreter down: threads of the SDK's own loop are still there, and now and then that aborts.
    os._exit(1 if failed else 0)


main()
