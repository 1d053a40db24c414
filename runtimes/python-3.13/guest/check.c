/* A module that defines `check`, compiled so that each statement of its body that asserts something is a case (tests.py).
 * The compiler's own syntax tree is altered: as Python objects it would cost several times as much as all the rest of a
 * run of tests. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "check.h"
#include <internal/pycore_ast.h>
#include <internal/pycore_compile.h>
#include <internal/pycore_parser.h>
#include <internal/pycore_pyarena.h>
#include <internal/pycore_pythonrun.h>

/* What the compiled `check` calls, by these names: a global of the tests, and a local for what a case has raised. */
#define CASES "__proofbox_cases__"
#define ERROR "__proofbox_cases___error"

static int has_assert(stmt_ty);

static int any_asserts(asdl_stmt_seq *body) {
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(body); i++)
        if (has_assert(asdl_seq_GET(body, i))) return 1;
    return 0;
}

static int any_handler_asserts(asdl_excepthandler_seq *handlers) {
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(handlers); i++)
        if (any_asserts(asdl_seq_GET(handlers, i)->v.ExceptHandler.body)) return 1;
    return 0;
}

static int any_match_asserts(asdl_match_case_seq *cases) {
    for (Py_ssize_t i = 0; i < asdl_seq_LEN(cases); i++)
        if (any_asserts(asdl_seq_GET(cases, i)->body)) return 1;
    return 0;
}

/* Whether a statement asserts something itself, not in a function or class that it defines. */
static int has_assert(stmt_ty s) {
    switch (s->kind) {
    case Assert_kind:
        return 1;
    case For_kind:
        return any_asserts(s->v.For.body) || any_asserts(s->v.For.orelse);
    case AsyncFor_kind:
        return any_asserts(s->v.AsyncFor.body) || any_asserts(s->v.AsyncFor.orelse);
    case While_kind:
        return any_asserts(s->v.While.body) || any_asserts(s->v.While.orelse);
    case If_kind:
        return any_asserts(s->v.If.body) || any_asserts(s->v.If.orelse);
    case With_kind:
        return any_asserts(s->v.With.body);
    case AsyncWith_kind:
        return any_asserts(s->v.AsyncWith.body);
    case Match_kind:
        return any_match_asserts(s->v.Match.cases);
    case Try_kind:
        return any_asserts(s->v.Try.body) || any_handler_asserts(s->v.Try.handlers) || any_asserts(s->v.Try.orelse)
            || any_asserts(s->v.Try.finalbody);
    case TryStar_kind:
        return any_asserts(s->v.TryStar.body) || any_handler_asserts(s->v.TryStar.handlers) || any_asserts(s->v.TryStar.orelse)
            || any_asserts(s->v.TryStar.finalbody);
    default:
        return 0;
    }
}

/* The last function of that name at the top of a module. */
static stmt_ty find_check(mod_ty module) {
    for (Py_ssize_t i = asdl_seq_LEN(module->v.Module.body); i-- > 0;) {
        stmt_ty s = asdl_seq_GET(module->v.Module.body, i);
        if (s->kind == FunctionDef_kind && PyUnicode_EqualToUTF8(s->v.FunctionDef.name, "check")) return s;
    }
    return NULL;
}

static PyObject *owned(PyObject *o, PyArena *arena) {
    if (!o || _PyArena_AddPyObject(arena, o) == 0) return o;
    Py_DECREF(o);
    return NULL;
}

static PyObject *name_of(const char *text, PyArena *arena) { return owned(PyUnicode_InternFromString(text), arena); }

/* Where a statement is: what is added for it is there, too. */
#define AT(s) (s)->lineno, (s)->col_offset, (s)->end_lineno, (s)->end_col_offset, arena

/* `CASES.method(argument)`, or without an argument. */
static stmt_ty call(const char *method, expr_ty argument, stmt_ty at, PyArena *arena) {
    PyObject *cases = name_of(CASES, arena), *attribute = cases ? name_of(method, arena) : NULL;
    asdl_expr_seq *arguments = NULL;
    if (argument) {
        if (!(arguments = _Py_asdl_expr_seq_new(1, arena))) return NULL;
        asdl_seq_SET(arguments, 0, argument);
    }
    expr_ty e = attribute ? _PyAST_Name(cases, Load, AT(at)) : NULL;
    if (e) e = _PyAST_Attribute(e, attribute, Load, AT(at));
    if (e) e = _PyAST_Call(e, arguments, NULL, AT(at));
    return e ? _PyAST_Expr(e, AT(at)) : NULL;
}

static asdl_stmt_seq *sequence_of(stmt_ty s, PyArena *arena) {
    asdl_stmt_seq *only = s ? _Py_asdl_stmt_seq_new(1, arena) : NULL;
    if (only) asdl_seq_SET(only, 0, s);
    return only;
}

static stmt_ty begin(Py_ssize_t index, stmt_ty s, PyArena *arena) {
    PyObject *number = owned(PyLong_FromSsize_t(index), arena);
    expr_ty argument = number ? _PyAST_Constant(number, NULL, AT(s)) : NULL;
    return argument ? call("begin", argument, s, arena) : NULL;
}

/* try: S; except BaseException as e: end(e); else: end() */
static stmt_ty guarded(stmt_ty s, PyArena *arena) {
    PyObject *base = name_of("BaseException", arena), *error = base ? name_of(ERROR, arena) : NULL;
    expr_ty type = error ? _PyAST_Name(base, Load, AT(s)) : NULL, caught = type ? _PyAST_Name(error, Load, AT(s)) : NULL;
    asdl_stmt_seq *failed = caught ? sequence_of(call("end", caught, s, arena), arena) : NULL;
    asdl_stmt_seq *passed = failed ? sequence_of(call("end", NULL, s, arena), arena) : NULL, *body = sequence_of(s, arena);
    excepthandler_ty handler = passed ? _PyAST_ExceptHandler(type, error, failed, AT(s)) : NULL;
    asdl_excepthandler_seq *handlers = handler ? _Py_asdl_excepthandler_seq_new(1, arena) : NULL;
    if (!handlers || !body) return NULL;
    asdl_seq_SET(handlers, 0, handler);
    return _PyAST_Try(body, handlers, passed, NULL, AT(s));
}

/* Makes cases of the statements of `check` that assert something, and notes where they are. */
static int instrument(stmt_ty check, PyObject *places, PyArena *arena) {
    asdl_stmt_seq *body = check->v.FunctionDef.body;
    Py_ssize_t length = asdl_seq_LEN(body), index = 0, out = 0;
    asdl_stmt_seq *altered = _Py_asdl_stmt_seq_new(2 * length, arena);
    if (!altered) return -1;
    for (Py_ssize_t i = 0; i < length; i++) {
        stmt_ty s = asdl_seq_GET(body, i);
        if (has_assert(s)) {
            PyObject *place = Py_BuildValue("(iiii)", s->lineno, s->col_offset, s->end_lineno, s->end_col_offset);
            int noted = place ? PyList_Append(places, place) : -1;
            Py_XDECREF(place);
            stmt_ty first = noted == 0 ? begin(index++, s, arena) : NULL;
            if (!first || !(s = guarded(s, arena))) return -1;
            asdl_seq_SET(altered, out++, first);
        }
        asdl_seq_SET(altered, out++, s);
    }
    altered->size = out;
    check->v.FunctionDef.body = altered;
    return 0;
}

static PyObject *compiled(const char *source, PyObject *filename, PyCompilerFlags *flags, PyObject *places, PyArena *arena) {
    mod_ty module = _PyParser_ASTFromString(source, filename, Py_file_input, flags, arena);
    if (!module) return NULL;
    stmt_ty check = find_check(module);
    if (check && instrument(check, places, arena) < 0) return NULL;
    return (PyObject *)_PyAST_Compile(module, filename, flags, -1, arena);
}

PyObject *compile_check(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 3 || !PyUnicode_Check(args[0]) || !PyUnicode_Check(args[1]) || !PyList_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "compile_check(source, filename, places)");
        return NULL;
    }
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    flags.cf_flags = PyCF_SOURCE_IS_UTF8;
    PyObject *copy;
    const char *source = _Py_SourceAsString(args[0], "compile_check", "string", &flags, &copy);
    PyArena *arena = source ? _PyArena_New() : NULL;
    PyObject *code = arena ? compiled(source, args[1], &flags, args[2], arena) : NULL;
    if (arena) _PyArena_Free(arena);
    return code;
}
