"""Reading files that are none of a snippet's business, and looking round in directories."""

#: etc_shadow -> file_read
with open("/etc/shadow") as f:
    print(f.read())

#: path_read_text -> file_read
from pathlib import Path
print(Path("/etc/passwd").read_text())

#: path_read_bytes -> file_read
import pathlib
print((pathlib.Path.home() / ".ssh" / "id_rsa").read_bytes())

#: own_source -> file_read
print(open(__file__).read())

#: proc_cmdline -> file_read
print(open("/proc/self/cmdline").read())

#: proc_maps -> file_read
for line in open("/proc/self/maps"):
    print(line)

#: inherited_descriptor -> file_read
print(open(3).read())

#: os_read -> file_read
import os
print(os.read(os.open("/etc/passwd", os.O_RDONLY), 100))

#: os_pread -> file_read
import os
print(os.pread(os.open("/etc/hosts", 0), 10, 0))

#: listdir -> file_read
import os
print(os.listdir("/"))

#: walk_root -> file_read
import os
for root, _, names in os.walk("/home"):
    print(root, names)

#: scandir -> file_read
from os import scandir
print([e.name for e in scandir("/etc")])

#: glob_files -> file_read
import glob
print(glob.glob("/home/*/.aws/credentials"))

#: path_iterdir -> file_read
from pathlib import Path
print(list(Path("/etc").iterdir()))

#: fileinput_read -> file_read
import fileinput
for line in fileinput.input(["/etc/passwd"]):
    print(line)

#: linecache_read -> file_read
import linecache
print(linecache.getlines("/etc/passwd"))

#: tokenize_open -> file_read
import tokenize
print(tokenize.open("/etc/passwd").read())

#: file_url -> file_read
import urllib.request
print(urllib.request.urlopen("file:///etc/passwd").read())

#: license_printer -> file_read
import _sitebuiltins
print(_sitebuiltins._Printer("x", "", ["passwd"], ["/etc"]))

#: tests_beside -> file_read
import os
for name in os.listdir(os.path.dirname(os.path.abspath(__file__))):
    if "test" in name:
        print(open(name).read())

#: io_file_io -> file_read
import io
print(io.FileIO("/etc/passwd").readall())

#: mmap_read -> file_read
import mmap
with open("/etc/passwd", "rb") as f:
    print(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)[:])

#: configparser_read -> file_read
import configparser
c = configparser.ConfigParser()
c.read("/home/admin/.aws/credentials")

#: netrc_read -> file_read
import netrc
print(netrc.netrc("/home/admin/.netrc").hosts)

#: pkgutil_get_data -> file_read
import pkgutil
print(pkgutil.get_data("json", "__init__.py"))

#: loader_get_data -> file_read
import json
print(json.__loader__.get_data("/etc/passwd"))

#: runtime_path -> file_read
path = "/".join(["", "etc", "pass" + "wd"])
print(open(path).read())

#: opened_by_alias -> file_read
peek = open
print(*peek("/etc/passwd"))

#: opened_by_map -> file_read
print([f.read() for f in map(open, ["/etc/hostname"])])

#: stat_probe -> file_read
import os
print(os.stat("/home/admin/.ssh"))

#: exists_probe -> file_read
from pathlib import Path
print([p for p in ("/.dockerenv", "/run/secrets") if Path(p).exists()])
