/* gemm.c for one type: `real`, LANES of which are in a vector, and its instructions. */
#define STRIP_COLUMNS (2 * LANES)

/* Strips of A: each number as often as a vector has it. What is missing is zero. */
static void NAME(pack_rows)(v128_t *to, const char *from, intptr_t step, intptr_t along, intptr_t count, intptr_t depth, real factor) {
    for (; count > 0; count -= STRIP_ROWS, from += STRIP_ROWS * step) {
        const char *p = from;
        if (count >= STRIP_ROWS)
#pragma clang loop unroll_count(4)
            for (intptr_t d = 0; d < depth; d++, p += along, to += STRIP_ROWS)
#pragma clang loop unroll(full)
                for (int i = 0; i < STRIP_ROWS; i++) to[i] = SPLAT(factor * *(const real *)(p + i * step));
        else
            for (intptr_t d = 0; d < depth; d++, p += along, to += STRIP_ROWS)
                for (int i = 0; i < STRIP_ROWS; i++) to[i] = SPLAT(i < count ? factor * *(const real *)(p + i * step) : 0);
    }
}

/* Strips of B. */
static void NAME(pack_columns)(real *to, const char *from, intptr_t step, intptr_t along, intptr_t count, intptr_t depth) {
    for (; count > 0; count -= STRIP_COLUMNS, from += STRIP_COLUMNS * step) {
        const char *p = from;
        if (count >= STRIP_COLUMNS && step == sizeof(real))
#pragma clang loop unroll_count(4)
            for (intptr_t d = 0; d < depth; d++, p += along, to += STRIP_COLUMNS) {
                wasm_v128_store(to, AT(p, 0));
                wasm_v128_store(to + LANES, AT(p, 1));
            }
        else if (count >= STRIP_COLUMNS)
#pragma clang loop unroll_count(4)
            for (intptr_t d = 0; d < depth; d++, p += along, to += STRIP_COLUMNS)
#pragma clang loop unroll(full)
                for (int i = 0; i < STRIP_COLUMNS; i++) to[i] = *(const real *)(p + i * step);
        else
            for (intptr_t d = 0; d < depth; d++, p += along, to += STRIP_COLUMNS)
                for (int i = 0; i < STRIP_COLUMNS; i++) to[i] = i < count ? *(const real *)(p + i * step) : 0;
    }
}

/* A strip of A times a strip of B. Eight sums are as many as two operations a cycle need, each of which takes four cycles.
 * Wasmtime puts multiplications behind all that is read in a basic block, so each half of a step ends one, the first by a test
 * that never holds. In this form nothing leaves the registers in a turn. With the factors exchanged, or other numbers in that
 * test, sums do, and it takes up to twice as long: whoever changes anything here has to look at the machine code. */
static __attribute__((noinline)) void NAME(strip)(const v128_t *a, const real *b, intptr_t depth, v128_t *sums) {
    v128_t sum[STRIP_ROWS][2];
#pragma clang loop unroll(full)
    for (int i = 0; i < STRIP_ROWS; i++) sum[i][0] = sum[i][1] = wasm_i32x4_splat(0);
#pragma clang loop unroll(disable)
    for (;; depth -= STEPS, a += STEPS * STRIP_ROWS, b += STEPS * STRIP_COLUMNS) {
        /* So that all is read at constant distances from these two. */
        __asm__("" : "+r"(a), "+r"(b));
#pragma clang loop unroll(full)
        for (unsigned step = 0; step < STEPS; step++) {
            v128_t b0 = wasm_v128_load(b + step * STRIP_COLUMNS), b1 = wasm_v128_load(b + step * STRIP_COLUMNS + LANES);
#pragma clang loop unroll(full)
            for (unsigned i = 0; i < STRIP_ROWS; i++) {
                v128_t one = a[step * STRIP_ROWS + i];
                sum[i][0] = MADD(b0, one, sum[i][0]);
                sum[i][1] = MADD(b1, one, sum[i][1]);
                if (i == STRIP_ROWS / 2 - 1 && depth == -(intptr_t)(step * STRIP_ROWS + i + 1)) goto done;
            }
            if (depth == step + 1) goto done;
        }
    }
done:
#pragma clang loop unroll(full)
    for (int i = 0; i < STRIP_ROWS; i++) sums[2 * i] = sum[i][0], sums[2 * i + 1] = sum[i][1];
}

static void NAME(block)(const v128_t *a, const real *b, intptr_t rows, intptr_t columns, intptr_t depth, char *c, intptr_t row, intptr_t column) {
    for (intptr_t i = 0; i < rows; i += STRIP_ROWS)
        for (intptr_t j = 0; j < columns; j += STRIP_COLUMNS) {
            v128_t sums[2 * STRIP_ROWS];
            NAME(strip)(a + i * depth, b + j * depth, depth, sums);
            intptr_t high = rows - i < STRIP_ROWS ? rows - i : STRIP_ROWS, wide = columns - j < STRIP_COLUMNS ? columns - j : STRIP_COLUMNS;
            char *to = c + i * row + j * column;
            if (high == STRIP_ROWS && wide == STRIP_COLUMNS && column == sizeof(real)) {
#pragma clang loop unroll(full)
                for (int r = 0; r < STRIP_ROWS; r++, to += row) {
                    wasm_v128_store(to, ADD(AT(to, 0), sums[2 * r]));
                    wasm_v128_store(to + 16, ADD(AT(to, 1), sums[2 * r + 1]));
                }
            } else if (high == STRIP_ROWS && wide == STRIP_COLUMNS) {
                const real *numbers = (const real *)sums;
                for (int r = 0; r < STRIP_ROWS; r++, to += row)
#pragma clang loop unroll(full)
                    for (int s = 0; s < STRIP_COLUMNS; s++) *(real *)(to + s * column) += numbers[r * STRIP_COLUMNS + s];
            } else {
                const real *numbers = (const real *)sums;
                for (intptr_t r = 0; r < high; r++)
                    for (intptr_t s = 0; s < wide; s++) *(real *)(to + r * row + s * column) += numbers[r * STRIP_COLUMNS + s];
            }
        }
}

static intptr_t NAME(rounded)(intptr_t n, intptr_t most, intptr_t unit) { return ((n < most ? n : most) + unit - 1) / unit * unit; }

static matrix NAME(turned)(matrix a) { return (matrix){a.at, a.column, a.row}; }
static matrix NAME(last_first)(matrix a, intptr_t columns) { return (matrix){a.at + (columns - 1) * a.column, a.row, -a.column}; }

int NAME(gemm)(intptr_t m, intptr_t n, intptr_t k, real alpha, matrix a, matrix b, matrix c) {
    if (k <= 0) return 1;
    /* Vectors are written along rows, forwards. */
    intptr_t size = sizeof(real);
    int row_by_row = c.column == size || c.column == -size, column_by_column = c.row == size || c.row == -size;
    if (column_by_column && !row_by_row)
        return NAME(gemm)(n, m, k, alpha, NAME(turned)(b), NAME(turned)(a), NAME(turned)(c));
    if (c.column == -size) b = NAME(last_first)(b, n), c = NAME(last_first)(c, n);
    /* Pieces of equal depth. */
    intptr_t pieces = (k + DEPTH - 1) / DEPTH, deepest = (k + pieces - 1) / pieces;
    v128_t *packed_a = malloc(NAME(rounded)(m, ROWS, STRIP_ROWS) * deepest * sizeof(v128_t) +
                              NAME(rounded)(n, COLUMNS, STRIP_COLUMNS) * deepest * sizeof(real));
    if (!packed_a) return 0;
    real *packed_b = (real *)(packed_a + NAME(rounded)(m, ROWS, STRIP_ROWS) * deepest);
    for (intptr_t j = 0; j < n; j += COLUMNS) {
        intptr_t columns = n - j < COLUMNS ? n - j : COLUMNS;
        for (intptr_t d = 0; d < k; d += deepest) {
            intptr_t depth = k - d < deepest ? k - d : deepest;
            NAME(pack_columns)(packed_b, b.at + d * b.row + j * b.column, b.column, b.row, columns, depth);
            for (intptr_t i = 0; i < m; i += ROWS) {
                intptr_t rows = m - i < ROWS ? m - i : ROWS;
                NAME(pack_rows)(packed_a, a.at + i * a.row + d * a.column, a.row, a.column, rows, depth, alpha);
                NAME(block)(packed_a, packed_b, rows, columns, depth, (char *)c.at + i * c.row + j * c.column, c.row, c.column);
            }
        }
    }
    free(packed_a);
    return 1;
}

int NAME(gemm_complex)(intptr_t m, intptr_t n, intptr_t k, matrix a, matrix b, matrix c) {
    matrix ai = {a.at + sizeof(real), a.row, a.column}, bi = {b.at + sizeof(real), b.row, b.column}, ci = {c.at + sizeof(real), c.row, c.column};
    return NAME(gemm)(m, n, k, 1, a, b, c) && NAME(gemm)(m, n, k, -1, ai, bi, c) && NAME(gemm)(m, n, k, 1, a, bi, ci) &&
           NAME(gemm)(m, n, k, 1, ai, b, ci);
}

real NAME(dot)(const char *a, intptr_t a_step, const char *b, intptr_t b_step, intptr_t n) {
    real sum = 0;
    intptr_t i = 0;
    if (a_step == sizeof(real) && b_step == sizeof(real)) {
        v128_t sums[DOT_SUMS];
#pragma clang loop unroll(full)
        for (int k = 0; k < DOT_SUMS; k++) sums[k] = wasm_i32x4_splat(0);
        for (; i + DOT_SUMS * LANES <= n; i += DOT_SUMS * LANES, a += DOT_SUMS * 16, b += DOT_SUMS * 16)
#pragma clang loop unroll(full)
            for (int k = 0; k < DOT_SUMS; k++) sums[k] = MADD(AT(a, k), AT(b, k), sums[k]);
        for (int k = DOT_SUMS / 2; k > 0; k /= 2)
            for (int l = 0; l < k; l++) sums[l] = ADD(sums[l], sums[l + k]);
        const real *lanes = (const real *)sums;
        for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    }
    for (; i < n; i++, a += a_step, b += b_step) sum += *(const real *)a * *(const real *)b;
    return sum;
}
#undef STRIP_COLUMNS
#undef real
#undef LANES
#undef NAME
#undef SPLAT
#undef ADD
#undef MADD
