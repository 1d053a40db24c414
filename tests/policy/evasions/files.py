"""Writing, moving and deleting files in all forms, databases and archives among them."""

#: open_mode_keyword -> file_write
open("out.txt", mode="wb").write(b"x")

#: open_exclusive -> file_write
open(file="new.txt", mode="x").close()

#: open_update -> file_write
open("data.bin", "r+b").write(b"x")

#: open_mode_variable -> file_write
mode = "w"
open("out.txt", mode).write("x")

#: open_mode_computed -> file_write
open("out.txt", "rw"[1:]).write("x")

#: open_mode_joined -> file_write
open("out.txt", "".join(["a", "b"])).write(b"x")

#: open_mode_chosen -> file_write
import random
open("out.txt", random.choice(["w", "a"])).write("x")

#: open_mode_in_dict -> file_write
options = {"mode": "w"}
open("out.txt", **options).write("x")

#: open_arguments_in_tuple -> file_write
arguments = ("out.txt", "w")
open(*arguments).write("x")

#: open_by_partial -> file_write
from functools import partial
writer = partial(open, mode="w")
writer("out.txt").write("x")

#: io_open -> file_write
import io
io.open("out.txt", "w").write("x")

#: io_open_aliased -> file_write
from io import open as read_only
read_only("out.txt", "w").write("x")

#: io_fileio -> file_write
import io
io.FileIO("out.bin", "w").write(b"x")

#: underscore_io -> file_write
import _io
_io.open("out.txt", "w").write("x")

#: pyio -> file_write
import _pyio
_pyio.open("out.txt", "w").write("x")

#: codecs_open -> file_write
import codecs
codecs.open("out.txt", "w", "utf-8").write("x")

#: builtins_open_call -> file_write
import builtins
builtins.open("out.txt", "w").write("x")

#: os_open_flags -> file_write
import os
os.write(os.open("out.txt", os.O_WRONLY | os.O_CREAT), b"x")

#: os_open_numeric_flags -> file_write
import os
os.write(os.open("out.txt", 0o101), b"x")

#: os_fdopen -> file_write
import os
os.fdopen(os.open("out.txt", os.O_RDWR | os.O_CREAT), "w").write("x")

#: posix_open -> file_write
import posix
posix.write(posix.open("out.txt", 65), b"x")

#: opener -> file_write
import os
open("out.txt", opener=lambda path, flags: os.open(path, os.O_RDWR | os.O_CREAT))

#: print_to_file -> file_write
print("x", file=open("out.txt", "w"))

#: path_write_text -> file_write
from pathlib import Path
Path("out.txt").write_text("x")

#: path_write_bytes -> file_write
import pathlib
pathlib.Path.home().joinpath("x").write_bytes(b"x")

#: path_operator -> file_write
from pathlib import Path
target = Path("/tmp") / "x" / "y"
target.write_text("x")

#: path_open -> file_write
from pathlib import Path
with Path("out.txt").open("w") as f:
    f.write("x")

#: path_unlink -> file_write
from pathlib import Path
Path("out.txt").unlink(missing_ok=True)

#: path_rename -> file_write
from pathlib import Path
Path("a").rename("b")

#: path_touch -> file_write
from pathlib import Path
Path("marker").touch()

#: path_mkdir -> file_write
from pathlib import Path
Path("a/b/c").mkdir(parents=True)

#: path_symlink -> file_write
from pathlib import Path
Path("link").symlink_to("/etc/passwd")

#: path_chmod -> file_write
from pathlib import Path
Path("run.sh").chmod(0o777)

#: path_unlink_all -> file_write
from pathlib import Path
for p in Path(".").rglob("*.py"):
    p.unlink()

#: path_method_unbound -> file_write
import pathlib
pathlib.Path.write_text(pathlib.Path("out.txt"), "x")

#: posixpath_class -> file_write
from pathlib import PosixPath as P
P("out.txt").write_text("x")

#: os_unlink -> file_write
from os import unlink
unlink("out.txt")

#: os_rename_replace -> file_write
import os
os.replace("a", "b")

#: os_makedirs -> file_write
import os
os.makedirs("a/b")

#: os_rmdir -> file_write
import os
os.rmdir("a")

#: os_symlink -> file_write
import os
os.symlink("/etc/passwd", "link")

#: os_link -> file_write
import os
os.link("a", "b")

#: os_truncate -> file_write
import os
os.truncate("data.bin", 0)

#: os_chmod_chown -> file_write
import os
os.chmod("run.sh", 0o755)

#: os_mkfifo -> file_write
import os
os.mkfifo("pipe")

#: os_utime -> file_write
import os
os.utime("a", (0, 0))

#: shutil_rmtree -> file_write
import shutil
shutil.rmtree("build", ignore_errors=True)

#: shutil_copy -> file_write
from shutil import copyfile
copyfile("/etc/passwd", "copy")

#: shutil_move -> file_write
import shutil
shutil.move("a", "b")

#: shutil_archive -> file_write
import shutil
shutil.make_archive("all", "zip", ".")

#: mmap_file -> file_write
import mmap
with open("data.bin", "r+b") as f:
    mmap.mmap(f.fileno(), 0)[0] = 1

#: sqlite_file -> file_write
import sqlite3
db = sqlite3.connect("cache.db")
db.execute("create table t (x)")
db.commit()

#: sqlite_attach -> file_write
import sqlite3
sqlite3.connect(":memory:").execute("attach 'other.db' as o")

#: sqlite_uri -> file_write
import sqlite3
sqlite3.connect("file:cache.db?mode=rwc", uri=True)

#: shelve_open -> file_write
import shelve
with shelve.open("state") as s:
    s["x"] = 1

#: dbm_open -> file_write
import dbm
dbm.open("state", "c")[b"x"] = b"1"

#: dbm_dumb -> file_write
import dbm.dumb
dbm.dumb.open("state")[b"x"] = b"1"

#: zipfile_write -> file_write
import zipfile
with zipfile.ZipFile("out.zip", "w") as z:
    z.writestr("a", "x")

#: zipfile_extract -> file_write
import zipfile
zipfile.ZipFile("in.zip").extractall("/tmp")

#: tarfile_write -> file_write
import tarfile
tarfile.open("out.tar.gz", "w:gz").close()

#: tarfile_extract -> file_write
import tarfile
tarfile.open("in.tar").extractall(filter="fully_trusted")

#: gzip_write -> file_write
import gzip
gzip.open("out.gz", "wt").write("x")

#: bz2_write -> file_write
import bz2
bz2.BZ2File("out.bz2", "w").write(b"x")

#: lzma_write -> file_write
import lzma
lzma.open("out.xz", "w").write(b"x")

#: logging_file_handler -> file_write
import logging
logging.getLogger().addHandler(logging.FileHandler("app.log"))

#: logging_basic_config -> file_write
import logging
logging.basicConfig(filename="app.log", level=10)
logging.info("x")

#: logging_rotating -> file_write
from logging.handlers import RotatingFileHandler
RotatingFileHandler("app.log", maxBytes=100)

#: csv_writer -> file_write
import csv
with open("out.csv", "w", newline="") as f:
    csv.writer(f).writerow([1, 2])

#: json_dump -> file_write
import json
json.dump({"passed": 3}, open("result.json", "w"))

#: pickle_dump -> file_write
import pickle
pickle.dump([1], open("out.pickle", "wb"))

#: configparser_write -> file_write
import configparser
configparser.ConfigParser().write(open("app.ini", "w"))

#: fileinput_inplace -> file_write
import fileinput
for line in fileinput.input("a.txt", inplace=True):
    print(line.upper(), end="")

#: elementtree_write -> file_write
import xml.etree.ElementTree as ET
ET.ElementTree(ET.Element("a")).write("out.xml")

#: wave_write -> file_write
import wave
w = wave.open("out.wav", "wb")
w.setparams((1, 2, 8000, 0, "NONE", ""))
w.close()

#: py_compile_file -> file_write
import py_compile
py_compile.compile("a.py", cfile="a.pyc")

#: venv_create -> file_write
import venv
venv.create("env")

#: profile_dump -> file_write
import cProfile
cProfile.Profile().dump_stats("profile.out")

#: numpy_like_tofile -> file_write
import array
array.array("i", [1]).tofile(open("out.bin", "wb"))

#: stdout_to_file -> file_write
import contextlib
with open("out.txt", "w") as f, contextlib.redirect_stdout(f):
    print("x")

#: pth_written -> file_write
import site
open(site.getusersitepackages() + "/x.pth", "w").write("import os\n")
