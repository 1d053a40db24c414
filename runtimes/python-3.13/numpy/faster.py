"""What makes numpy faster here, as changes like those of patches.py."""

# Before the reference version, which stays for what is left: steps are in numbers, and rows are next to each other.
GEMM_OF_FORTRAN = """\
#include <gemm.h>

static int {letter}gemm_reference(char *, char *, integer *, integer *, integer *, {real} *, {real} *, integer *, {real} *, integer *,
    {real} *, {real} *, integer *);

/* Subroutine */ int {letter}gemm_(char *transa, char *transb, integer *m, integer *n, integer *k, {real} *alpha, {real} *a,
    integer *lda, {real} *b, integer *ldb, {real} *beta, {real} *c__, integer *ldc)
{{
    {real} one = 1;
    int a_turned = *transa != 'N' && *transa != 'n', b_turned = *transb != 'N' && *transb != 'n';
    int number = sizeof({real});
    if (*m < 4 || *n < 4 || *k < 4 || *alpha == 0) {{
        return {letter}gemm_reference(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c__, ldc);
    }}
    for (integer j = 0; j < *n; j++) {{
        for (integer i = 0; i < *m; i++) {{
            {real} *number_of_c = c__ + i + (long)j * *ldc;
            *number_of_c = *beta == 0 ? 0 : *beta * *number_of_c;
        }}
    }}
    matrix first = {{(char *)a, a_turned ? *lda * number : number, a_turned ? number : *lda * number}};
    matrix second = {{(char *)b, b_turned ? *ldb * number : number, b_turned ? number : *ldb * number}};
    matrix product = {{(char *)c__, number, *ldc * number}};
    if ({gemm}(*m, *n, *k, *alpha, first, second, product)) {{
        return 0;
    }}
    return {letter}gemm_reference(transa, transb, m, n, k, alpha, a, lda, b, ldb, &one, c__, ldc);
}}

static int {letter}gemm_reference(char *transa, char *transb, integer *m, integer *n, integer *k, {real} *alpha, {real} *a,
    integer *lda, {real} *b, integer *ldb, {real} *beta, {real} *c__, integer *ldc)
{{"""

# The same for triangular systems and LU decompositions.
TRIANGLE_OF_FORTRAN = """\
#include <factor.h>

static int {letter}trsm_reference(char *, char *, char *, char *, integer *, integer *, {real} *, {real} *, integer *, {real} *, integer *);

/* Subroutine */ int {letter}trsm_(char *side, char *uplo, char *transa, char *diag, integer *m, integer *n, {real} *alpha, {real} *a,
    integer *lda, {real} *b, integer *ldb)
{{
    int is_left = *side == 'L' || *side == 'l', is_turned = *transa != 'N' && *transa != 'n';
    int is_upper = (*uplo == 'U' || *uplo == 'u') != is_turned;
    diagonal ones = *diag == 'U' || *diag == 'u' ? UNIT_DIAGONAL : GIVEN_DIAGONAL;
    int number = sizeof({real});
    if (*m < 4 || *n < 4 || *alpha == 0) {{
        return {letter}trsm_reference(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);
    }}
    for (integer j = 0; j < *n && *alpha != 1; j++) {{
        for (integer i = 0; i < *m; i++) {{
            b[i + (long)j * *ldb] *= *alpha;
        }}
    }}
    matrix t = {{(char *)a, is_turned ? *lda * number : number, is_turned ? number : *lda * number}};
    matrix x = {{(char *)b, number, *ldb * number}};
    if (is_left) {{
        solve_triangle_{type}(*m, *n, t, is_upper ? UPPER_TRIANGLE : LOWER_TRIANGLE, ones, x);
    }} else {{
        /* X T = B, turned. */
        t = (matrix){{t.at, t.column, t.row}};
        x = (matrix){{x.at, x.column, x.row}};
        solve_triangle_{type}(*n, *m, t, is_upper ? LOWER_TRIANGLE : UPPER_TRIANGLE, ones, x);
    }}
    return 0;
}}

static int {letter}trsm_reference(char *side, char *uplo, char *transa, char *diag, integer *m, integer *n, {real} *alpha, {real} *a,
    integer *lda, {real} *b, integer *ldb)
{{"""
LU_OF_FORTRAN = """\
#include <factor.h>

/* Subroutine */ int {letter}getrf_(integer *m, integer *n, {real} *a, integer *lda, integer *ipiv, integer *info)
{{
    extern int xerbla_(char *, integer *);
    integer wrong = *m < 0 ? 1 : *n < 0 ? 2 : *lda < max(1, *m) ? 4 : 0;
    *info = -wrong;
    if (wrong) {{
        xerbla_("{name}", &wrong);
    }} else if (*m > 0 && *n > 0) {{
        *info = lu_{type}(*m, *n, a, *lda, (int *)ipiv);
    }}
    return 0;
}}

/* The one of LAPACK, which nothing calls. */
static __attribute__((unused)) int {letter}getrf_reference(integer *m, integer *n, {real} *a, integer *lda, integer *ipiv, integer *info)
{{"""

PATCHES = [
    # Products of matrices: include/gemm.h.
    (
        "numpy/_core/src/umath/matmul.c.src",
        "static void\n@TYPE@_matmul_inner_noblas(",
        """\
#if GEMM_FOR_@TYPE@
static int
@TYPE@_matmul_blocked(char *ip1, npy_intp is1_m, npy_intp is1_n,
                      char *ip2, npy_intp is2_n, npy_intp is2_p,
                      char *op, npy_intp os_m, npy_intp os_p,
                      npy_intp dm, npy_intp dn, npy_intp dp)
{
    if (dm > 3 && dp > 3 && dn > 3 && (double)dm * dn * dp > 2000) {
        for (npy_intp m = 0; m < dm; m++) {
            if (os_p == sizeof(@typ@)) {
                memset(op + m * os_m, 0, dp * sizeof(@typ@));
                continue;
            }
            for (npy_intp p = 0; p < dp; p++) {
                *(@typ@ *)(op + m * os_m + p * os_p) = 0;
            }
        }
        return GEMM_@TYPE@(dm, dp, dn, 1, (matrix){ip1, is1_m, is1_n}, (matrix){ip2, is2_n, is2_p}, (matrix){op, os_m, os_p});
    }
    if (is2_p == sizeof(@typ@) && os_p == sizeof(@typ@)) {
        for (npy_intp m = 0; m < dm; m++) {
            @typ@ *restrict row = (@typ@ *)(op + m * os_m);
            for (npy_intp p = 0; p < dp; p++) {
                row[p] = 0;
            }
            for (npy_intp n = 0; n < dn; n++) {
                const @typ@ factor = *(@typ@ *)(ip1 + m * is1_m + n * is1_n);
                const @typ@ *restrict other = (@typ@ *)(ip2 + n * is2_n);
                for (npy_intp p = 0; p < dp; p++) {
                    row[p] += factor * other[p];
                }
            }
        }
        return 1;
    }
    for (npy_intp m = 0; m < dm; m++) {
        for (npy_intp p = 0; p < dp; p++) {
            *(@typ@ *)(op + m * os_m + p * os_p) = DOT_@TYPE@(ip1 + m * is1_m, is1_n, ip2 + p * is2_p, is2_n, dn);
        }
    }
    return 1;
}
#endif

static void
@TYPE@_matmul_inner_noblas(""",
    ),
    (
        "numpy/_core/src/umath/matmul.c.src",
        """\
    ib1_n = is1_n * dn;
    ib2_n = is2_n * dn;
    ib2_p = is2_p * dp;
    ob_p  = os_p * dp;

    for (m = 0; m < dm; m++) {
        for (p = 0; p < dp; p++) {
#if @IS_COMPLEX@ == 1
""",
        """\
    ib1_n = is1_n * dn;
    ib2_n = is2_n * dn;
    ib2_p = is2_p * dp;
    ob_p  = os_p * dp;

#if GEMM_FOR_@TYPE@
    if (@TYPE@_matmul_blocked(ip1, is1_m, is1_n, ip2, is2_n, is2_p, op, os_m, os_p, dm, dn, dp)) {
        return;
    }
#endif
#if GEMM_FOR_COMPLEX_@TYPE@
    if (dm > 3 && dp > 3 && dn > 3 && (double)dm * dn * dp > 2000) {
        for (m = 0; m < dm; m++) {
            if (os_p == sizeof(@typ@)) {
                memset(op + m * os_m, 0, dp * sizeof(@typ@));
                continue;
            }
            for (p = 0; p < dp; p++) {
                npy_csetreal@suff@((@typ@ *)(op + m * os_m + p * os_p), 0);
                npy_csetimag@suff@((@typ@ *)(op + m * os_m + p * os_p), 0);
            }
        }
        if (GEMM_@TYPE@(dm, dp, dn, (matrix){ip1, is1_m, is1_n}, (matrix){ip2, is2_n, is2_p}, (matrix){op, os_m, os_p})) {
            return;
        }
    }
#endif
    for (m = 0; m < dm; m++) {
        for (p = 0; p < dp; p++) {
#if @IS_COMPLEX@ == 1
""",
    ),
    (
        "numpy/_core/src/umath/matmul.c.src",
        '#include "numpy/npy_math.h"\n',
        '#include "numpy/npy_math.h"\n#include <gemm.h>\n',
    ),
    (
        "numpy/_core/src/multiarray/arraytypes.c.src",
        "        @type@ sum = (@type@)0;  /* could make this double */\n        npy_intp i;\n",
        """\
#if GEMM_FOR_@name@
        *((@type@ *)op) = DOT_@name@(ip1, is1, ip2, is2, n);
        return;
#endif
        @type@ sum = (@type@)0;  /* could make this double */
        npy_intp i;
""",
    ),
    (
        "numpy/_core/src/multiarray/arraytypes.c.src",
        '#include "numpy/npy_math.h"\n',
        '#include "numpy/npy_math.h"\n#include <gemm.h>\n',
    ),
    (
        "numpy/_core/src/multiarray/multiarraymodule.c",
        "    npy_clear_floatstatus_barrier((char *) result);\n    NPY_BEGIN_THREADS_DESCR(PyArray_DESCR(ap2));\n    while (it1->index < it1->size) {\n",
        """\
    npy_clear_floatstatus_barrier((char *) result);
    int is_done = 0;
    if (PyArray_NDIM(ap1) == 2 && PyArray_NDIM(ap2) == 2 && (typenum == NPY_DOUBLE || typenum == NPY_FLOAT)) {
        const npy_intp *steps1 = PyArray_STRIDES(ap1), *steps2 = PyArray_STRIDES(ap2), *steps = PyArray_STRIDES(out_buf);
        npy_intp m = PyArray_DIM(out_buf, 0), n = PyArray_DIM(out_buf, 1);
        matrix a = {PyArray_BYTES(ap1), steps1[0], steps1[1]}, b = {PyArray_BYTES(ap2), steps2[0], steps2[1]};
        matrix c = {op, steps[0], steps[1]};
        if (m > 3 && n > 3 && l > 3 && PyArray_AssignZero(out_buf, NULL) == 0) {
            is_done = typenum == NPY_DOUBLE ? gemm_double(m, n, l, 1, a, b, c) : gemm_float(m, n, l, 1, a, b, c);
        }
    }
    NPY_BEGIN_THREADS_DESCR(PyArray_DESCR(ap2));
    while (!is_done && it1->index < it1->size) {
""",
    ),
    (
        "numpy/_core/src/multiarray/multiarraymodule.c",
        '#include "numpy/npy_math.h"\n',
        '#include "numpy/npy_math.h"\n#include <gemm.h>\n',
    ),
    (
        "numpy/linalg/lapack_lite/f2c_blas.c",
        """\
/* Subroutine */ int dgemm_(char *transa, char *transb, integer *m, integer *
	n, integer *k, doublereal *alpha, doublereal *a, integer *lda,
	doublereal *b, integer *ldb, doublereal *beta, doublereal *c__,
	integer *ldc)
{""",
        GEMM_OF_FORTRAN.format(letter="d", real="doublereal", gemm="gemm_double"),
    ),
    (
        "numpy/linalg/lapack_lite/f2c_blas.c",
        """\
/* Subroutine */ int sgemm_(char *transa, char *transb, integer *m, integer *
	n, integer *k, real *alpha, real *a, integer *lda, real *b, integer *
	ldb, real *beta, real *c__, integer *ldc)
{""",
        GEMM_OF_FORTRAN.format(letter="s", real="real", gemm="gemm_float"),
    ),
    # Triangular systems and LU decompositions: include/factor.h.
    (
        "numpy/linalg/lapack_lite/f2c_blas.c",
        """\
/* Subroutine */ int dtrsm_(char *side, char *uplo, char *transa, char *diag,
	integer *m, integer *n, doublereal *alpha, doublereal *a, integer *
	lda, doublereal *b, integer *ldb)
{""",
        TRIANGLE_OF_FORTRAN.format(letter="d", real="doublereal", type="double"),
    ),
    (
        "numpy/linalg/lapack_lite/f2c_blas.c",
        """\
/* Subroutine */ int strsm_(char *side, char *uplo, char *transa, char *diag,
	integer *m, integer *n, real *alpha, real *a, integer *lda, real *b,
	integer *ldb)
{""",
        TRIANGLE_OF_FORTRAN.format(letter="s", real="real", type="float"),
    ),
    (
        "numpy/linalg/lapack_lite/f2c_d_lapack.c",
        """\
/* Subroutine */ int dgetrf_(integer *m, integer *n, doublereal *a, integer *
	lda, integer *ipiv, integer *info)
{""",
        LU_OF_FORTRAN.format(letter="d", real="doublereal", type="double", name="DGETRF"),
    ),
    (
        "numpy/linalg/lapack_lite/f2c_s_lapack.c",
        """\
/* Subroutine */ int sgetrf_(integer *m, integer *n, real *a, integer *lda,
	integer *ipiv, integer *info)
{""",
        LU_OF_FORTRAN.format(letter="s", real="real", type="float", name="SGETRF"),
    ),
    # Sets of numbers: include/number_set.h.
    (
        "numpy/_core/src/multiarray/unique.cpp",
        "                hashset.insert(*((T *) data));\n",
        """\
                if (!hashset.insert(*((T *) data))) {
                    return PyErr_NoMemory();
                }
""",
    ),
    ("numpy/_core/src/multiarray/unique.cpp", "    std::unordered_set<T> hashset;\n", "    number_set<T> hashset;\n"),
    (
        "numpy/_core/src/multiarray/unique.cpp",
        """\
    auto it = hashset.begin();
    size_t i = 0;
    for (; it != hashset.end(); it++, i++) {
        data[i] = *it;
    }
""",
        "    hashset.copy_to(data);\n",
    ),
    (
        "numpy/_core/src/multiarray/unique.cpp",
        "#include <unordered_set>\n#include <functional>\n",
        "#include <functional>\n#include <number_set.h>\n",
    ),
    # Sorting by digits, where it is for that: include/sort.h.
    (
        "numpy/_core/src/npysort/quicksort.cpp",
        "static int\nquicksort_(type *start, npy_intp num)\n{\n",
        """\
static int
quicksort_(type *start, npy_intp num)
{
    if (sort_numbers(Tag::type_value, start, num, 0)) {
        return 0;
    }
""",
    ),
    (
        "numpy/_core/src/npysort/quicksort.cpp",
        "static int\naquicksort_(type *vv, npy_intp *tosort, npy_intp num)\n{\n",
        """\
static int
aquicksort_(type *vv, npy_intp *tosort, npy_intp num)
{
    if (sort_positions(Tag::type_value, vv, tosort, num)) {
        return 0;
    }
""",
    ),
    ("numpy/_core/src/npysort/quicksort.cpp", '#include "numpy_tag.h"\n', '#include "numpy_tag.h"\n#include <sort.h>\n'),
    (
        "numpy/_core/src/npysort/timsort.cpp",
        "static int\ntimsort_(void *start, npy_intp num)\n{\n",
        """\
static int
timsort_(void *start, npy_intp num)
{
    if (sort_numbers(Tag::type_value, start, num, 1)) {
        return 0;
    }
""",
    ),
    (
        "numpy/_core/src/npysort/timsort.cpp",
        "static int\natimsort_(void *v, npy_intp *tosort, npy_intp num)\n{\n",
        """\
static int
atimsort_(void *v, npy_intp *tosort, npy_intp num)
{
    if (sort_positions(Tag::type_value, v, tosort, num)) {
        return 0;
    }
""",
    ),
    ("numpy/_core/src/npysort/timsort.cpp", '#include "numpy_tag.h"\n', '#include "numpy_tag.h"\n#include <sort.h>\n'),
    # Selection in large arrays: include/select.h.
    (
        "numpy/_core/src/npysort/selection.cpp",
        "introselect_(type *v, npy_intp *tosort, npy_intp num, npy_intp kth, npy_intp *pivots, npy_intp *npiv);\n",
        "introselect_(type *v, npy_intp *tosort, npy_intp num, npy_intp kth, npy_intp *pivots, npy_intp *npiv, npy_intp nkth = 1);\n",
    ),
    (
        "numpy/_core/src/npysort/selection.cpp",
        "introselect_(type *v, npy_intp *tosort, npy_intp num, npy_intp kth,\n             npy_intp *pivots, npy_intp *npiv)\n",
        "introselect_(type *v, npy_intp *tosort, npy_intp num, npy_intp kth,\n             npy_intp *pivots, npy_intp *npiv, npy_intp nkth)\n",
    ),
    ("numpy/_core/src/npysort/selection.cpp", " pivots, npiv);\n}\n\n", " pivots, npiv, nkth);\n}\n\n", 2),
    (
        "numpy/_core/src/npysort/selection.cpp",
        "    /*\n     * use a faster O(n*kth) algorithm for very small kth\n",
        """\
    if (high - low + 1 >= LEAST_TO_NARROW && !(inexact<type>() && kth == num - 1)) {
        npy_intp from = low, to = high;
        if (narrow_<Tag, arg>(v, tosort, &from, &to, kth, nkth, pivots, npiv)) {
            return 0;
        }
        low = from;
        high = to;
    }

    /*
     * use a faster O(n*kth) algorithm for very small kth
""",
    ),
    (
        "numpy/_core/src/npysort/selection.cpp",
        "template <class T>\nstatic constexpr bool\ninexact()\n",
        "#include <select.h>\n\ntemplate <class T>\nstatic constexpr bool\ninexact()\n",
    ),
    # argmax and argmin: most blocks have nothing beyond what was found before.
    (
        "numpy/_core/src/multiarray/argfunc.dispatch.c.src",
        "    npy_intp i = 1;\n\n    for (; i < n; ++i) {\n        @type@ a = ip[i];\n",
        """\
    npy_intp i = 1, block = 1;

    for (; i < n; ++i) {
        while (i == block && i + 16 <= n) {
            int is_beyond = 0;
            for (int k = 0; k < 16; k++) {
                is_beyond |= !(ip[i + k] @iop@= mp);
            }
            block += 16;
            if (!is_beyond) {
                i = block;
            }
        }
        if (i >= n) {
            break;
        }
        @type@ a = ip[i];
""",
    ),
]
