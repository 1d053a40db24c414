"""Attributes reached without writing them behind a dot: getattr and its relatives, dictionaries of modules, and the
methods that the dot itself calls."""

#: getattr_plain -> process
import os
getattr(os, "system")("id")

#: getattr_default -> process
import os
getattr(os, "system", None)("id")

#: getattr_chain -> process
import sys
getattr(getattr(sys, "modules")["os"], "system")("id")

#: getattr_of_getattr -> process
import os, builtins
getattr(builtins, "getattr")(os, "system")("id")

#: getattr_on_import -> process
getattr(__import__("os"), "popen")("id").read()

#: attrgetter -> process
import operator, os
operator.attrgetter("system")(os)("id")

#: attrgetter_dotted -> process
import shutil
from operator import attrgetter
attrgetter("os.system")(shutil)("id")

#: attrgetter_several -> process
import operator, os
print_, call = operator.attrgetter("getcwd", "system")(os)
call("id")

#: methodcaller -> process
import operator, os
operator.methodcaller("system", "id")(os)

#: vars_item -> process
import os
vars(os)["system"]("id")

#: vars_get -> process
import os
vars(os).get("popen")("id")

#: dict_item -> process
import os
os.__dict__["system"]("id")

#: dict_getitem -> process
import os
os.__dict__.__getitem__("system")("id")

#: itemgetter_on_vars -> process
import operator, os
operator.itemgetter("system")(vars(os))("id")

#: getattribute -> process
import os
os.__getattribute__("system")("id")

#: getattribute_of_object -> process
import os
object.__getattribute__(os, "system")("id")

#: getattribute_of_type -> process
import os
type(os).__getattribute__(os, "system")("id")

#: setattr_then_call -> process
import os, types
box = types.SimpleNamespace()
setattr(box, "go", os.system)
box.go("id")

#: setattr_on_builtins -> grader_tampering
import builtins
setattr(builtins, "len", lambda x: 0)

#: getattr_environ -> environment
import os
print(getattr(os, "environ")["HOME"])

#: getattr_on_builtins_eval -> dynamic_code
import builtins
getattr(builtins, "eval")("1 + 1")

#: builtins_dict_exec -> dynamic_code
import builtins
vars(builtins)["exec"]("x = 1")

#: map_getattr -> process
import os
for call in map(getattr, [os], ["system"]):
    call("id")

#: reduce_getattr -> process
import functools, shutil
functools.reduce(getattr, ["os", "system"], shutil)("id")

#: partial_getattr -> process
import functools, os
functools.partial(getattr, os)("system")("id")

#: getmembers -> process
import inspect, os
dict(inspect.getmembers(os))["system"]("id")

#: getattr_static -> process
import inspect, os
inspect.getattr_static(os, "system")("id")

#: own_getattr -> process
import os
class Proxy:
    def __getattr__(self, name):
        return getattr(os, name)
Proxy().system("id")

#: own_walker -> process
def walk(root, path):
    for step in path.split("."):
        root = getattr(root, step)
    return root
walk(__import__("shutil"), "os.system")("id")

#: dict_copy -> process
import os
names = dict(vars(os))
names["system"]("id")

#: dict_unpacked -> process
import os
{**vars(os)}["system"]("id")

#: namespace_of_vars -> process
import os, types
types.SimpleNamespace(**vars(os)).system("id")

#: chainmap -> process
import collections, os
collections.ChainMap(vars(os))["system"]("id")

#: call_through_class -> process
import subprocess
getattr(subprocess, "Popen").__call__(["id"])

#: builtin_module_dict -> process
import sys
vars(sys.modules["posix"])["system"]("id")
