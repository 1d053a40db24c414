/* factor.c for one type: `real`, LANES of which are in a vector, and its instructions. */
#define AT_ROW(m, i, j) ((m).at + (i) * (m).row + (j) * (m).column)

/* C -= A B. */
static void NAME(subtract_product)(intptr_t m, intptr_t n, intptr_t k, matrix a, matrix b, matrix c) {
    if (NAME(gemm)(m, n, k, -1, a, b, c)) return;
    /* There is no memory to pack them. */
    for (intptr_t i = 0; i < m; i++)
        for (intptr_t j = 0; j < n; j++) {
            real sum = NAME(dot)(AT_ROW(a, i, 0), a.column, AT_ROW(b, 0, j), b.row, k);
            *(real *)AT_ROW(c, i, j) -= sum;
        }
}

/* The numbers of up to FEW rows and 2 LANES columns, and back. */
INLINE void NAME(load_few)(real (*few)[2 * LANES], matrix b, intptr_t rows, intptr_t columns) {
    for (intptr_t j = 0; j < columns; j++)
        for (intptr_t i = 0; i < rows; i++) few[i][j] = *(const real *)AT_ROW(b, i, j);
}
INLINE void NAME(store_few)(real (*few)[2 * LANES], matrix b, intptr_t rows, intptr_t columns) {
    for (intptr_t j = 0; j < columns; j++)
        for (intptr_t i = 0; i < rows; i++) *(real *)AT_ROW(b, i, j) = few[i][j];
}

/* A lower triangle of up to FEW rows, for as many columns at once as two vectors have. */
static void NAME(solve_few)(intptr_t n, intptr_t columns, matrix t, diagonal ones, matrix b) {
    real triangle[FEW][FEW], few[FEW][2 * LANES] = {{0}};
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t k = 0; k <= i; k++) triangle[i][k] = *(const real *)AT_ROW(t, i, k);
    for (intptr_t j = 0; j < columns; j += 2 * LANES) {
        intptr_t wide = columns - j < 2 * LANES ? columns - j : 2 * LANES;
        matrix part = {AT_ROW(b, 0, j), b.row, b.column};
        if (n == FEW && wide == 2 * LANES) NAME(load_few)(few, part, FEW, 2 * LANES);
        else NAME(load_few)(few, part, n, wide);
        for (intptr_t i = 0; i < n; i++) {
            v128_t x = AT((char *)few[i], 0), y = AT((char *)few[i], 1);
            for (intptr_t k = 0; k < i; k++) {
                v128_t factor = SPLAT(triangle[i][k]);
                x = NMADD(factor, AT((char *)few[k], 0), x);
                y = NMADD(factor, AT((char *)few[k], 1), y);
            }
            if (ones == GIVEN_DIAGONAL) x = DIV(x, SPLAT(triangle[i][i])), y = DIV(y, SPLAT(triangle[i][i]));
            wasm_v128_store(few[i], x);
            wasm_v128_store(few[i] + LANES, y);
        }
        if (n == FEW && wide == 2 * LANES) NAME(store_few)(few, part, FEW, 2 * LANES);
        else NAME(store_few)(few, part, n, wide);
    }
}

static void NAME(solve_lower)(intptr_t n, intptr_t columns, matrix t, diagonal ones, matrix b) {
    if (n <= FEW) {
        NAME(solve_few)(n, columns, t, ones, b);
        return;
    }
    /* A multiple of FEW. */
    intptr_t first = (n / 2 + FEW - 1) / FEW * FEW;
    matrix below = {AT_ROW(t, first, 0), t.row, t.column}, rest = {AT_ROW(b, first, 0), b.row, b.column};
    NAME(solve_lower)(first, columns, t, ones, b);
    NAME(subtract_product)(n - first, columns, first, below, b, rest);
    matrix corner = {AT_ROW(t, first, first), t.row, t.column};
    NAME(solve_lower)(n - first, columns, corner, ones, rest);
}

void NAME(solve_triangle)(intptr_t n, intptr_t columns, matrix t, triangle shape, diagonal ones, matrix b) {
    if (shape == UPPER_TRIANGLE) {
        /* A lower one from its other end. */
        t = (matrix){AT_ROW(t, n - 1, n - 1), -t.row, -t.column};
        b = (matrix){AT_ROW(b, n - 1, 0), -b.row, b.column};
    }
    NAME(solve_lower)(n, columns, t, ones, b);
}

static void NAME(exchange_rows)(real *a, intptr_t column, intptr_t columns, const int *pivots, intptr_t count) {
    for (intptr_t j = 0; j < columns; j++, a += column)
        for (intptr_t i = 0; i < count; i++) {
            real one = a[i];
            a[i] = a[pivots[i] - 1];
            a[pivots[i] - 1] = one;
        }
}

/* Few columns, one after the other. */
static int NAME(lu_few)(intptr_t m, intptr_t n, real *a, intptr_t column, int *pivots) {
    int singular = 0;
    for (intptr_t j = 0; j < n && j < m; j++) {
        real *now = a + j * column, largest = ABSOLUTE(now[j]);
        intptr_t pivot = j;
        for (intptr_t i = j + 1; i < m; i++) {
            real one = ABSOLUTE(now[i]);
            if (one > largest) largest = one, pivot = i;
        }
        pivots[j] = pivot + 1;
        if (now[pivot] == 0) {
            if (!singular) singular = j + 1;
            continue;
        }
        for (intptr_t k = 0; k < n && pivot != j; k++) {
            real one = a[k * column + j];
            a[k * column + j] = a[k * column + pivot];
            a[k * column + pivot] = one;
        }
        real divisor = now[j];
        for (intptr_t i = j + 1; i < m; i++) now[i] /= divisor;
        for (intptr_t k = j + 1; k < n; k++) {
            real *other = a + k * column, factor = other[j];
            intptr_t i = j + 1;
            for (; i + 2 * LANES <= m; i += 2 * LANES) {
                wasm_v128_store(other + i, NMADD(SPLAT(factor), wasm_v128_load(now + i), wasm_v128_load(other + i)));
                wasm_v128_store(other + i + LANES, NMADD(SPLAT(factor), wasm_v128_load(now + i + LANES), wasm_v128_load(other + i + LANES)));
            }
            for (; i < m; i++) store_one((char *)(other + i), NMADD(SPLAT(factor), SPLAT(now[i]), SPLAT(other[i])), sizeof(real));
        }
    }
    return singular;
}

int NAME(lu)(intptr_t m, intptr_t n, real *a, intptr_t column, int *pivots) {
    intptr_t least = m < n ? m : n;
    if (least <= FEW) {
        int singular = NAME(lu_few)(m, least, a, column, pivots);
        if (n == least) return singular;
        real *right = a + least * column;
        matrix corner = {(char *)a, sizeof(real), column * sizeof(real)}, others = {(char *)right, sizeof(real), column * sizeof(real)};
        NAME(exchange_rows)(right, column, n - least, pivots, least);
        NAME(solve_lower)(least, n - least, corner, UNIT_DIAGONAL, others);
        return singular;
    }
    intptr_t first = (least / 2 + FEW - 1) / FEW * FEW, step = column * sizeof(real);
    real *right = a + first * column;
    int singular = NAME(lu)(m, first, a, column, pivots);
    NAME(exchange_rows)(right, column, n - first, pivots, first);
    matrix upper_left = {(char *)a, sizeof(real), step}, lower_left = {(char *)(a + first), sizeof(real), step};
    matrix upper_right = {(char *)right, sizeof(real), step}, lower_right = {(char *)(right + first), sizeof(real), step};
    NAME(solve_lower)(first, n - first, upper_left, UNIT_DIAGONAL, upper_right);
    NAME(subtract_product)(m - first, n - first, first, lower_left, upper_right, lower_right);
    int later = NAME(lu)(m - first, n - first, right + first, column, pivots + first);
    NAME(exchange_rows)(a + first, column, first, pivots + first, least - first);
    for (intptr_t i = first; i < least; i++) pivots[i] += first;
    return singular ? singular : later ? later + first : 0;
}
#undef AT_ROW
#undef real
#undef LANES
#undef NAME
#undef ABSOLUTE
#undef SPLAT
#undef DIV
#undef NMADD
