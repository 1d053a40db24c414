/* The reactor: what the host calls. `wizer-initialize` runs once, when the image is made; its memory is the image.
 * A run is `proofbox_buffer` (where the request goes) and `proofbox_run` (carry it out). */
#define PY_SSIZE_T_CLEAN
#include "codec.h"
#include "heap.h"
#include <modules.h>
#include "pending.h"
#include "sqlite_randomness.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT(name) __attribute__((export_name(name), visibility("default")))

extern const struct _frozen guest_frozen[];
static PyObject *run_function;
static unsigned char *request;
static size_t request_capacity;

static void fail(const char *what) {
    fprintf(stderr, "image initialisation failed: %s\n", what);
    if (PyErr_Occurred()) PyErr_Print();
    fflush(stderr);
    __builtin_trap();
}

static void check(PyStatus status) {
    if (PyStatus_Exception(status)) fail(status.err_msg ? status.err_msg : "unknown");
}

PyMODINIT_FUNC PyInit__ctypes(void);

static void initialise_python(void) {
    PyPreConfig pre;
    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    check(Py_PreInitialize(&pre));
    PyImport_FrozenModules = guest_frozen;
    int failed = PyImport_AppendInittab("_proofbox", PyInit__proofbox) < 0 || PyImport_AppendInittab("_ctypes", PyInit__ctypes) < 0;
    if (failed || numpy_modules_register() < 0) fail("inittab");

    heap_own_arenas();
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.write_bytecode = 0;
    config.install_signal_handlers = 0;
    config.pathconfig_warnings = 0;
    config.parse_argv = 0;
    config.buffered_stdio = 1;
    config.use_frozen_modules = 1;
    config.code_debug_ranges = 1;
    config.module_search_paths_set = 1;
    /* Strings in the image are hashed already, so the seed is the image's, not the run's. */
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    PyConfig_SetString(&config, &config.program_name, L"python3");
    PyConfig_SetString(&config, &config.executable, L"/bin/python3");
    PyConfig_SetString(&config, &config.base_executable, L"/bin/python3");
    PyConfig_SetString(&config, &config.prefix, L"/");
    PyConfig_SetString(&config, &config.exec_prefix, L"/");
    PyConfig_SetString(&config, &config.base_prefix, L"/");
    PyConfig_SetString(&config, &config.base_exec_prefix, L"/");
    PyConfig_SetString(&config, &config.home, L"/");
    PyConfig_SetString(&config, &config.stdlib_dir, L"/lib/python3.13");
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    check(status);
}

EXPORT("wizer-initialize") void wizer_initialize(void) {
    if (chdir("/home/user") != 0) fail("the working directory is missing");
    initialise_python();
    PyObject *runner = PyImport_ImportModule("_proofbox_runner");
    if (!runner) fail("cannot import the runner");
    PyObject *done = PyObject_CallMethod(runner, "prepare", NULL);
    if (!done) fail("cannot prepare the runner");
    Py_DECREF(done);
    if (pending_prepare() < 0) fail("cannot find the buffers of the standard streams");
    run_function = PyObject_GetAttrString(runner, "run");
    if (!run_function) fail("the runner has no `run`");
    PyObject *written = PyObject_GetAttrString(runner, "written");
    if (!written) fail("the runner does not say what runs write to");
    Py_DECREF(runner);
    if (sqlite_reseed_in_each_run() < 0) fail("cannot prepare SQLite");
    request = malloc(request_capacity = 65536);
    if (!request) fail("no memory for the request");
    fflush(stdout);
    fflush(stderr);
    heap_fill_holes();
    if (heap_move(written) < 0) fail("no memory for what runs write to");
    heap_leave_room();
}

/* The address of `length` bytes for the request, or 0 when there is no memory for it. */
EXPORT("proofbox_buffer") unsigned char *proofbox_buffer(size_t length) {
    if (length > request_capacity) {
        unsigned char *larger = realloc(request, length);
        if (!larger) return NULL;
        request = larger;
        request_capacity = length;
    }
    return request;
}

/* Carries out the request of `length` bytes in the buffer. The exit code, or -1 when the runner itself failed. */
EXPORT("proofbox_run") int proofbox_run(size_t length) {
    PyObject *message = codec_decode(request, length);
    PyObject *code = message ? PyObject_CallOneArg(run_function, message) : NULL;
    Py_XDECREF(message);
    int exit_code = code ? (int)PyLong_AsLong(code) : -1;
    Py_XDECREF(code);
    PyErr_Clear();
    return exit_code;
}
