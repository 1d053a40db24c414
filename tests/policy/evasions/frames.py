"""What others hold: frames up the stack, all objects alive, and hooks that see every line."""

#: getframe_back -> introspection
import sys
print(sys._getframe(0).f_back)

#: getframe_locals -> introspection
import sys
def solution(x):
    return sys._getframe(1).f_locals.get("expected")
solution(1)

#: getframe_aliased -> introspection
from sys import _getframe as where
print(where().f_globals)

#: getframe_by_getattr -> introspection
import sys
getattr(sys, "_get" + "frame")(0)

#: getframemodulename -> introspection
import sys
print(sys._getframemodulename(1))

#: current_frames -> introspection
import sys
for frame in sys._current_frames().values():
    print(frame.f_locals)

#: current_exceptions -> introspection
import sys
print(sys._current_exceptions())

#: inspect_currentframe -> introspection
import inspect
print(inspect.currentframe().f_back)

#: inspect_stack -> introspection
import inspect
for entry in inspect.stack():
    print(entry.frame.f_locals)

#: inspect_outer_frames -> introspection
import inspect
print(inspect.getouterframes(inspect.currentframe()))

#: inspect_getsource_of_caller -> introspection
import inspect, sys
print(inspect.getsource(sys._getframe(0)))

#: inspect_getclosurevars -> introspection
import inspect
def outer():
    key = 1
    return lambda: key
print(inspect.getclosurevars(outer()).nonlocals)

#: traceback_frame -> introspection
try:
    raise ValueError
except ValueError as e:
    print(e.__traceback__.tb_frame.f_back)

#: exc_info_frame -> introspection
import sys
try:
    raise ValueError
except ValueError:
    print(sys.exc_info()[2].tb_frame.f_locals)

#: traceback_walk_stack -> introspection
import traceback
for frame, line in traceback.walk_stack(None):
    print(frame.f_globals.keys())

#: stack_summary_locals -> introspection
import traceback
print(traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True))

#: generator_frame -> introspection
def g(): yield
print(g().gi_frame.f_back)

#: generator_frame_climb -> introspection
def g():
    yield handle.gi_frame.f_back
handle = g()
print(next(handle))

#: coroutine_frame -> introspection
async def c(): ...
x = c()
print(x.cr_frame.f_globals)
x.close()

#: async_generator_frame -> introspection
async def c(): yield
print(c().ag_frame.f_code)

#: caller_constants -> introspection
import sys
def solution(x):
    return sys._getframe(1).f_code.co_consts[-1]
solution(0)

#: dis_of_caller -> introspection
import dis, sys
for instruction in dis.get_instructions(sys._getframe(0).f_code):
    print(instruction.argval)

#: locals_written -> introspection
import sys
def solution():
    sys._getframe(1).f_locals["passed"] = True
solution()

#: locals_to_fast -> introspection
import ctypes, sys
ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(sys._getframe()), 0)

#: gc_get_objects -> introspection
import gc
print([o for o in gc.get_objects() if isinstance(o, dict) and "expected" in o])

#: gc_referrers -> introspection
from gc import get_referrers as who
key = object()
print(who(key))

#: gc_referents -> introspection
import gc
print(gc.get_referents(print))

#: gc_callbacks -> introspection
import gc
gc.callbacks.append(lambda phase, info: print(phase))

#: object_by_address -> introspection
import _ctypes
x = [1]
print(_ctypes.PyObj_FromPtr(id(x)))

#: ctypes_cast -> introspection
import ctypes
x = [1]
print(ctypes.cast(id(x), ctypes.py_object).value)

#: memory_changed -> introspection
import ctypes
ctypes.memset(id(10 ** 40) + 24, 1, 1)

#: settrace -> introspection
import sys
sys.settrace(lambda frame, event, arg: None)

#: settrace_named -> introspection
from sys import settrace as watch
def hook(frame, event, arg):
    print(frame.f_locals)
watch(hook)

#: setprofile -> introspection
import sys
sys.setprofile(print)

#: threading_settrace -> introspection
import threading
threading.settrace(lambda *a: None)

#: threading_setprofile_all -> introspection
import threading
threading.setprofile_all_threads(lambda *a: None)

#: monitoring -> introspection
import sys
sys.monitoring.use_tool_id(3, "watch")
sys.monitoring.register_callback(3, sys.monitoring.events.CALL, print)
sys.monitoring.set_events(3, sys.monitoring.events.CALL)

#: frame_trace_attribute -> introspection
import sys
sys._getframe().f_trace = print

#: line_jump -> introspection
import sys
def jump(frame, event, arg):
    if event == "line":
        frame.f_lineno = 99
    return jump
sys.settrace(jump)

#: audit_hook -> introspection
import sys
sys.addaudithook(lambda event, args: None)

#: bdb_trace -> introspection
import bdb
bdb.Bdb().set_trace()

#: faulthandler_dump -> introspection
import faulthandler
faulthandler.dump_traceback()

#: main_module_namespace -> introspection
import sys
print(vars(sys.modules["__main__"]))

#: decorated_frames -> introspection
import sys
def climb(f):
    return lambda *a: f(sys._getframe(1), *a)
@climb
def show(frame): print(frame.f_locals)
show()
