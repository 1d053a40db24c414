"""No disguise at all: what a program without bad intent would write too. Whatever misses these misses everything."""

#: os_system -> process
import os
os.system("id")

#: subprocess_run -> process
import subprocess
print(subprocess.run(["id"], capture_output=True, text=True).stdout)

#: subprocess_shell -> process
import subprocess
subprocess.check_output("id | tee /dev/null", shell=True)

#: socket_connect -> network
import socket
s = socket.socket()
s.connect(("collector.example", 443))
s.sendall(b"hello")

#: urlopen_direct -> network
import urllib.request
print(urllib.request.urlopen("https://example.com/").read())

#: open_for_writing -> file_write
with open("out.txt", "w") as file:
    file.write("x")

#: open_for_appending -> file_write
with open("/etc/profile", "a") as file:
    file.write("alias ls=true\n")

#: read_passwd -> file_read
print(open("/etc/passwd").read())

#: environ_item -> environment
import os
print(os.environ["HOME"])

#: getenv_direct -> environment
import os
print(os.getenv("API_TOKEN"))

#: exec_constant -> dynamic_code
exec("x = 1 + 1")

#: eval_input -> dynamic_code
print(eval(input()))

#: compile_and_exec -> dynamic_code
code = compile("x = 1", "<made>", "exec")
exec(code)

#: gc_objects -> introspection
import gc
print(len(gc.get_objects()))

#: getframe -> introspection
import sys
print(sys._getframe().f_code.co_name)

#: subclasses -> introspection
print(object.__subclasses__())

#: ctypes_libc -> process
import ctypes
ctypes.CDLL(None).system(b"id")

#: ctypes_memory -> introspection
import ctypes
x = 7
print(ctypes.string_at(id(x), 28))

#: os_exit -> grader_tampering
import os
os._exit(0)

#: builtins_patched -> grader_tampering
import builtins
builtins.sorted = lambda *a, **k: []

#: remove_file -> file_write
import os
os.remove("report.json")

#: fork -> process
import os
if os.fork() == 0:
    print("child")
