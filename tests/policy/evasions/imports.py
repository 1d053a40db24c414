"""Every way to get hold of a module: statements in all places, functions that import, loaders, and tables of modules
that are loaded already."""

#: import_as -> process
import subprocess as text_tools
text_tools.run(["id"])

#: import_list -> process
import math, os, json
os.system("id")

#: from_import -> process
from os import system
system("id")

#: from_import_as -> process
from subprocess import Popen as Worker
Worker(["id"])

#: star_os -> process
from os import *
system("id")

#: star_subprocess -> process
from subprocess import *
run(["id"])

#: submodule -> network
import http.client as transport
transport.HTTPSConnection("example.com").request("GET", "/")

#: through_another_module -> process
from shutil import os as _o
_o.system("id")

#: module_of_module -> process
import random
random._os.system("id")

#: module_of_logging -> process
import logging
logging.os.system("id")

#: posix_below_os -> process
import posix
posix.system("id")

#: fork_exec_below_subprocess -> process
import _posixsubprocess
print(_posixsubprocess.fork_exec)

#: socket_below_socket -> network
import _socket
_socket.socket().connect(("93.184.215.14", 80))

#: relative_in_pretended_package -> network
__package__ = "urllib"
from .request import urlopen
urlopen("http://example.com/")

#: in_function -> process
def helper(command):
    import os
    return os.system(command)
helper("id")

#: in_class_body -> process
class Tools:
    from os import system as go
Tools.go("id")

#: in_try -> process
try:
    import numpy_that_is_missing
except ImportError:
    from os import popen as numpy_that_is_missing
numpy_that_is_missing("id")

#: in_condition -> network
import sys
if sys.platform != "win32":
    import socket
    socket.create_connection(("example.com", 80))

#: in_finally -> process
try:
    pass
finally:
    import subprocess
    subprocess.call("id")

#: semicolons -> process
x = 1; import os; os.system("id"); y = 2

#: dunder_import -> process
__import__("os").system("id")

#: dunder_import_keyword -> process
m = __import__(name="subprocess")
m.run(["id"])

#: dunder_import_fromlist -> network
request = __import__("urllib.request", fromlist=["urlopen"])
request.urlopen("http://example.com/")

#: dunder_import_of_builtins -> process
import builtins
builtins.__import__("os").system("id")

#: import_module -> process
import importlib
importlib.import_module("os").system("id")

#: import_module_named -> process
from importlib import import_module as load
load("subprocess").run(["id"])

#: import_module_relative -> network
import importlib
importlib.import_module(".request", package="urllib").urlopen("http://example.com/")

#: importlib_dunder -> process
import importlib
importlib.__import__("os").system("id")

#: gcd_import -> process
from importlib import _bootstrap
_bootstrap._gcd_import("os").system("id")

#: frozen_importlib -> process
import _frozen_importlib
_frozen_importlib.__import__("posix").system("id")

#: find_spec_and_load -> process
import importlib.util
spec = importlib.util.find_spec("os")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.system("id")

#: source_file_loader -> dynamic_code
import importlib.machinery
importlib.machinery.SourceFileLoader("m", "/tmp/made.py").load_module()

#: spec_from_file -> dynamic_code
import importlib.util
spec = importlib.util.spec_from_file_location("m", "/tmp/made.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

#: extension_loader -> dynamic_code
import importlib.machinery
importlib.machinery.ExtensionFileLoader("m", "/tmp/m.so").create_module(importlib.machinery.ModuleSpec("m", None, origin="/tmp/m.so"))

#: builtin_importer -> process
from importlib.machinery import BuiltinImporter
BuiltinImporter.load_module("posix").system("id")

#: lazy_loader -> process
import importlib.util
spec = importlib.util.find_spec("subprocess")
spec.loader = importlib.util.LazyLoader(spec.loader)
lazy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lazy)
lazy.run(["id"])

#: sys_modules -> process
import sys
sys.modules["os"].system("id")

#: sys_modules_get -> process
from sys import modules
modules.get("posix").system("id")

#: sys_modules_of_another -> process
import enum
enum.sys.modules["os"].system("id")

#: loader_of_builtins -> process
__builtins__.__loader__.load_module("posix").system("id")

#: spec_of_builtins -> process
__builtins__.__spec__.loader.load_module("posix").system("id")

#: loader_of_sys -> process
import sys
sys.__loader__.load_module("posix").system("id")

#: pkgutil_resolve -> process
import pkgutil
pkgutil.resolve_name("os:system")("id")

#: pydoc_locate -> process
import pydoc
pydoc.locate("os.system")("id")

#: zipimport -> dynamic_code
import zipimport
zipimport.zipimporter("/tmp/made.zip").load_module("made")

#: runpy_module -> dynamic_code
import runpy
runpy.run_module("timeit", run_name="__main__")

#: runpy_path -> dynamic_code
from runpy import run_path
run_path("/tmp/made.py")

#: site_addsitedir -> dynamic_code
import site
site.addsitedir("/tmp/with_a_pth_file")

#: imp_below_importlib -> process
import _imp, importlib.machinery
spec = importlib.machinery.ModuleSpec("posix", importlib.machinery.BuiltinImporter)
_imp.create_builtin(spec).system("id")

#: pkgutil_through_mock -> process
from unittest import mock
mock.pkgutil.resolve_name("os").system("id")

#: mock_patch_target -> process
from unittest.mock import patch
original, _ = patch("os.system").get_original()
original("id")

#: logging_resolve -> process
from logging.config import BaseConfigurator
BaseConfigurator({}).resolve("os.system")("id")

#: logging_dict_config -> process
import logging.config
logging.config.dictConfig({"version": 1, "handlers": {"h": {"()": "os.system", "command": "id"}}, "root": {"handlers": ["h"]}})
