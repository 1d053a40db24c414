"""Build variables that sysconfig (and through it zoneinfo) reads; there is no Makefile in the sandbox to ask."""

build_time_vars = {
    "prefix": "/",
    "exec_prefix": "/",
    "EXT_SUFFIX": ".so",
    "SOABI": "cpython-313-wasm32-wasi",
    "MULTIARCH": "wasm32-wasi",
    "Py_GIL_DISABLED": 0,
    "Py_DEBUG": 0,
    "WITH_DOC_STRINGS": 1,
    "TZPATH": "/usr/share/zoneinfo",
}
