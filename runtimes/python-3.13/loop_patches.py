"""The evaluation loop of CPython for WebAssembly.

Natively a bytecode takes a dozen instructions, as what the loop always needs lives in registers. The compiler behind WebAssembly
gives up on that in a function as large as this one: everything, even the address of linear memory, is kept on the stack and
loaded for each use. So the loop is made smaller, and what it always needs fewer. docs/explanation/performance.md has what each
change gains.

All of it is in effect with PROOFBOX_LOOP, which WebAssembly defines; natively the loop stays CPython's own, unless it is
compiled with -DPROOFBOX_LOOP and without computed gotos (loadtest/README.md)."""

import re

from sources import BuildError

# Bytecodes that stay in the loop: the most frequent ones of the training programs, those that others fall back to, and the first
# of all (CACHE), as then the number of a bytecode is its place in the table of the switch.
HOT = frozenset(
    """
    CACHE RESUME RESUME_CHECK LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_LOAD_FAST
    STORE_FAST_STORE_FAST LOAD_CONST POP_TOP PUSH_NULL NOP COPY SWAP BINARY_OP BINARY_OP_ADD_INT BINARY_OP_SUBTRACT_INT
    BINARY_OP_MULTIPLY_INT BINARY_OP_ADD_FLOAT BINARY_OP_SUBTRACT_FLOAT BINARY_OP_MULTIPLY_FLOAT BINARY_OP_ADD_UNICODE
    BINARY_SUBSCR BINARY_SUBSCR_LIST_INT BINARY_SUBSCR_DICT BINARY_SUBSCR_TUPLE_INT BINARY_SUBSCR_STR_INT STORE_SUBSCR
    STORE_SUBSCR_LIST_INT STORE_SUBSCR_DICT COMPARE_OP COMPARE_OP_INT COMPARE_OP_FLOAT COMPARE_OP_STR CONTAINS_OP
    CONTAINS_OP_DICT IS_OP TO_BOOL TO_BOOL_BOOL TO_BOOL_INT TO_BOOL_LIST UNARY_NOT UNARY_NEGATIVE POP_JUMP_IF_FALSE
    POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT FOR_ITER
    FOR_ITER_RANGE FOR_ITER_LIST FOR_ITER_TUPLE FOR_ITER_GEN GET_ITER END_FOR LOAD_GLOBAL LOAD_GLOBAL_MODULE
    LOAD_GLOBAL_BUILTIN LOAD_ATTR LOAD_ATTR_INSTANCE_VALUE LOAD_ATTR_METHOD_NO_DICT LOAD_ATTR_METHOD_WITH_VALUES
    LOAD_ATTR_SLOT LOAD_ATTR_MODULE STORE_ATTR_INSTANCE_VALUE STORE_ATTR_SLOT CALL CALL_PY_EXACT_ARGS
    CALL_BOUND_METHOD_EXACT_ARGS CALL_BUILTIN_O CALL_BUILTIN_FAST CALL_LEN CALL_METHOD_DESCRIPTOR_O
    CALL_METHOD_DESCRIPTOR_FAST CALL_METHOD_DESCRIPTOR_FAST_WITH_KEYWORDS CALL_METHOD_DESCRIPTOR_NOARGS CALL_LIST_APPEND CALL_ISINSTANCE CALL_STR_1 CALL_TYPE_1
    RETURN_VALUE RETURN_CONST YIELD_VALUE INTERPRETER_EXIT BUILD_LIST BUILD_TUPLE BUILD_SLICE BUILD_STRING LIST_APPEND
    UNPACK_SEQUENCE_TWO_TUPLE UNPACK_SEQUENCE_TUPLE UNPACK_SEQUENCE_LIST LOAD_DEREF STORE_DEREF COPY_FREE_VARS FORMAT_SIMPLE
    CONVERT_VALUE BINARY_SLICE
    """.split()
)

# Bytecodes that neither raise nor call: nobody can ask which instruction is running before the next one has said so.
SILENT = (
    "LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_AND_CLEAR", "LOAD_CONST", "NOP", "COPY", "SWAP", "PUSH_NULL", "JUMP_FORWARD",
    "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "UNARY_NOT",
)  # fmt: skip

# Which way a branch went is kept for a compiler of bytecode, which is not built; to write it dirties a page of code.
HISTORY = """\
            #if ENABLE_SPECIALIZATION
            this_instr[1].cache = (this_instr[1].cache << 1) | flag;
            #endif
"""

# A count that says "never again" is left alone: to write it, even unchanged, dirties a page of code.
COUNTDOWN = """\
        (COUNTER) = advance_backoff_counter((COUNTER)); \\
"""
SETTLED_COUNTDOWN = """\
        if (!is_unreachable_backoff_counter((COUNTER))) { \\
            (COUNTER) = advance_backoff_counter((COUNTER)); \\
        } \\
"""

DEALLOCATION = """\
            _PyReftracerTrack(op, PyRefTracer_DESTROY); \\
            destructor dealloc = Py_TYPE(op)->tp_dealloc; \\
            (*dealloc)(op); \\
"""
KNOWN_DEALLOCATION = """\
            _PyReftracerTrack(op, PyRefTracer_DESTROY); \\
            destructor d = (destructor)(dealloc); \\
            d(op); \\
"""
# In place, each of them is an indirect call at some 500 places of the loop.
OUT_OF_LINE = """\
#if defined(__wasi__) && !defined(PROOFBOX_LOOP)
#  define PROOFBOX_LOOP
#endif
#ifdef PROOFBOX_LOOP
#  define DEALLOCATE(op) _Py_Dealloc(op)
#  define DEALLOCATE_BY(op, dealloc) ((destructor)(dealloc))(op)
#else
#  define DEALLOCATE(op) \\
    do { \\
        _PyReftracerTrack(op, PyRefTracer_DESTROY); \\
        destructor d = Py_TYPE(op)->tp_dealloc; \\
        (*d)(op); \\
    } while (0)
#  define DEALLOCATE_BY(op, dealloc) \\
    do { \\
        _PyReftracerTrack(op, PyRefTracer_DESTROY); \\
        destructor d = (destructor)(dealloc); \\
        d(op); \\
    } while (0)
#endif

"""

# There is one thread. Its state has an address that is known when the module is linked.
THREAD_STATE = """\
#ifdef __wasi__
#  define tstate (&_PyRuntime._main_interpreter._initial_thread.base)
#else
    PyThreadState *const tstate = given;
#endif
"""
ONLY_THREAD = """\
#ifdef __wasi__
    if (given != tstate) {
        Py_FatalError("the state of another thread");
    }
#endif
"""

# The rare bytecodes: a function of its own with the same variables. It returns where the loop goes on.
RARE = """\
#ifdef PROOFBOX_LOOP

typedef struct {
    _PyInterpreterFrame *frame;
    _Py_CODEUNIT *next_instr;
    PyObject **stack_pointer;
    unsigned opcode;
    int oparg;
} LoopState;

typedef enum { AT_DISPATCH, AT_ERROR, AT_START_OF_FRAME, AT_RESUMED_FRAME, AT_UNWINDING } LoopPlace;

static __attribute__((noinline)) LoopPlace
eval_rare(PyThreadState *given, LoopState *state)
{
THREAD_STATE
    _PyInterpreterFrame *frame = state->frame;
    _Py_CODEUNIT *next_instr = state->next_instr;
    PyObject **stack_pointer = state->stack_pointer;
    unsigned opcode = state->opcode;
    int oparg = state->oparg;
    LoopPlace place;

    switch (opcode) {
#include "rare_cases.c.h"
LAST_CASES
    }
    Py_UNREACHABLE();

pop_4_error:
    STACK_SHRINK(1);
pop_3_error:
    STACK_SHRINK(1);
pop_2_error:
    STACK_SHRINK(1);
pop_1_error:
    STACK_SHRINK(1);
error:
    place = AT_ERROR;
    goto back;
exception_unwind:
    place = AT_UNWINDING;
    goto back;
start_frame:
    place = AT_START_OF_FRAME;
    goto back;
resume_frame:
    place = AT_RESUMED_FRAME;
    goto back;
dispatch_opcode:
    place = AT_DISPATCH;
back:
    *state = (LoopState){frame, next_instr, stack_pointer, opcode, oparg};
    return place;
#undef tstate
}

/* In the loop, what a bytecode falls back to is dispatched as if it stood there: nothing has been changed when that happens. */
#undef GO_TO_INSTRUCTION
#define GO_TO_INSTRUCTION(op) do { next_instr = frame->instr_ptr; opcode = (op); goto dispatch_opcode; } while (0)

#endif

"""
CASES = """\
#ifdef PROOFBOX_LOOP
#include "hot_cases.c.h"
        default: {
            LoopState state = {frame, next_instr, stack_pointer, opcode, oparg};
            LoopPlace place = eval_rare(tstate, &state);
            frame = state.frame;
            next_instr = state.next_instr;
            stack_pointer = state.stack_pointer;
            opcode = state.opcode;
            oparg = state.oparg;
            if (__builtin_expect(place == AT_DISPATCH, 1)) goto dispatch_opcode;
            if (place == AT_START_OF_FRAME) goto start_frame;
            if (place == AT_RESUMED_FRAME) goto resume_frame;
            if (place == AT_UNWINDING) goto exception_unwind;
            goto error;
        }
#else
"""

INCLUDED = '#include "generated_cases.c.h"\n'
LAST_CASES = "    /* INSTRUMENTED_LINE has to be here"
END_OF_CASES = "        } /* End instructions */\n"
LOOP = "PyObject* _Py_HOT_FUNCTION\n_PyEval_EvalFrameDefault(PyThreadState *tstate, _PyInterpreterFrame *frame, int throwflag)\n{\n"
END_OF_LOOP = "#endif // _Py_TIER2\n\n}\n"


def replaced(text, old, new, count=1):
    if text.count(old) != count:
        raise BuildError(f"the evaluation loop of this CPython is not as loop_patches.py expects it at {old.strip()[:60]!r}; adapt it")
    return text.replace(old, new)


def split(cases):
    """The generated cases as (hot, rare): what stands before the first and after the last one is in both, and so are frequent
    bytecodes that rare ones fall back to. (They may look at which one did: instrumented ones do.)"""
    head, *blocks = re.split(r"(?m)^(?=        TARGET\()", cases)
    end = "\n        }\n"
    last = blocks.pop()
    cut = last.rindex(end) + len(end)
    blocks, tail = [*blocks, last[:cut]], last[cut:]
    names = [re.match(r"        TARGET\((\w+)\)", block).group(1) for block in blocks]
    missing = HOT - set(names)
    if missing:
        raise BuildError(f"this CPython has no bytecode {min(missing)}, which loop_patches.py names; adapt it")
    hot = "".join(block for name, block in zip(names, blocks) if name in HOT)
    rare = "".join(block for name, block in zip(names, blocks) if name not in HOT)
    fallbacks = set(re.findall(r"(?:DEOPT_IF\(.*, |GO_TO_INSTRUCTION\()(\w+)\);", rare))
    rare += "".join(block for name, block in zip(names, blocks) if name in HOT & fallbacks)
    # A value that it returns would be taken for a place in the loop.
    if re.search(r"(?m)^\s*return\b", rare):
        raise BuildError("a rare bytecode of this CPython returns from the loop; name it in loop_patches.py as a frequent one")
    return head + hot + tail, head + rare + tail


def silenced(cases):
    """Without notes that nobody reads."""
    cases = replaced(cases, HISTORY, "", 5)
    for name in SILENT:
        start = cases.index(f"        TARGET({name}) {{\n")
        end = cases.index("DISPATCH();", start)
        block = cases[start:end]
        if "this_instr" in block:
            block = replaced(block, "this_instr = frame->instr_ptr = next_instr;", "this_instr = next_instr;")
        else:
            block = replaced(block, "            frame->instr_ptr = next_instr;\n", "")
        cases = cases[:start] + block + cases[end:]
    return cases


def patch_loop(python):
    """Applies all of it to the sources in a directory."""
    folder = python / "Python"
    hot, rare = split(silenced((folder / "generated_cases.c.h").read_text()))
    (folder / "hot_cases.c.h").write_text(hot)
    (folder / "rare_cases.c.h").write_text(rare)
    macros = folder / "ceval_macros.h"
    macros.write_text(replaced(macros.read_text(), COUNTDOWN, SETTLED_COUNTDOWN))
    loop = (folder / "ceval.c").read_text()
    marked = "// GH-89279: The MSVC compiler does not inline"
    guarded = "#if !defined(Py_DEBUG) && !defined(Py_TRACE_REFS) && !defined(Py_GIL_DISABLED)\n"
    loop = replaced(loop, guarded + marked, OUT_OF_LINE + guarded + marked)
    loop = replaced(loop, DEALLOCATION, "            DEALLOCATE(op); \\\n")
    loop = replaced(loop, KNOWN_DEALLOCATION, "            DEALLOCATE_BY(op, dealloc); \\\n")
    start, end = loop.index(LAST_CASES), loop.index(END_OF_CASES)
    last_cases = loop[start:end].rstrip("\n")
    loop = loop[:end] + "#endif\n" + loop[end:]
    loop = replaced(loop, INCLUDED, CASES + INCLUDED)
    rare = RARE.replace("THREAD_STATE\n", THREAD_STATE).replace("LAST_CASES", last_cases)
    loop = replaced(loop, LOOP, rare + LOOP.replace("*tstate", "*given") + THREAD_STATE + ONLY_THREAD)
    loop = replaced(loop, END_OF_LOOP, END_OF_LOOP.replace("}\n", "#undef tstate\n}\n"))
    (folder / "ceval.c").write_text(loop)
