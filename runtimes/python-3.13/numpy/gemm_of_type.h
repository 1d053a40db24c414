/* gemm.c for one type: `real`, LANES of which are in a vector. */
typedef real NAME(vector) __attribute__((vector_size(16), aligned(sizeof(real))));
#define STRIP_COLUMNS (2 * LANES)

/* Strips of `width` rows (or columns), each as `depth` groups of `width` numbers; what is missing is zero. */
static void NAME(pack)(real *to, const char *from, intptr_t step, intptr_t along, intptr_t count, intptr_t depth, int width, real factor) {
    for (intptr_t first = 0; first < count; first += width)
        for (intptr_t d = 0; d < depth; d++)
            for (int i = 0; i < width; i++)
                *to++ = first + i < count ? factor * *(const real *)(from + (first + i) * step + d * along) : 0;
}

/* A strip of A times a strip of B: sixteen or thirty-two sums, kept in registers. */
static void NAME(strip)(const real *a, const real *b, intptr_t depth, real sums[STRIP_ROWS][STRIP_COLUMNS]) {
    typedef NAME(vector) vector;
    vector c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};
    for (intptr_t d = 0; d < depth; d++, a += STRIP_ROWS, b += STRIP_COLUMNS) {
        vector b0 = *(const vector *)b, b1 = *(const vector *)(b + LANES);
        vector a0 = a[0] - (vector){0}, a1 = a[1] - (vector){0}, a2 = a[2] - (vector){0}, a3 = a[3] - (vector){0};
        c00 += a0 * b0, c01 += a0 * b1;
        c10 += a1 * b0, c11 += a1 * b1;
        c20 += a2 * b0, c21 += a2 * b1;
        c30 += a3 * b0, c31 += a3 * b1;
    }
    vector *row = (vector *)sums;
    row[0] = c00, row[1] = c01, row[2] = c10, row[3] = c11, row[4] = c20, row[5] = c21, row[6] = c30, row[7] = c31;
}

static void NAME(block)(const real *a, const real *b, intptr_t rows, intptr_t columns, intptr_t depth, char *c, intptr_t row, intptr_t column) {
    real sums[STRIP_ROWS][STRIP_COLUMNS];
    for (intptr_t j = 0; j < columns; j += STRIP_COLUMNS)
        for (intptr_t i = 0; i < rows; i += STRIP_ROWS) {
            NAME(strip)(a + i * depth, b + j * depth, depth, sums);
            intptr_t high = rows - i < STRIP_ROWS ? rows - i : STRIP_ROWS, wide = columns - j < STRIP_COLUMNS ? columns - j : STRIP_COLUMNS;
            for (intptr_t r = 0; r < high; r++)
                for (intptr_t s = 0; s < wide; s++) *(real *)(c + (i + r) * row + (j + s) * column) += sums[r][s];
        }
}

static intptr_t NAME(rounded)(intptr_t n, intptr_t most, intptr_t unit) { return ((n < most ? n : most) + unit - 1) / unit * unit; }

int NAME(gemm)(intptr_t m, intptr_t n, intptr_t k, real alpha, matrix a, matrix b, matrix c) {
    intptr_t deepest = k < DEPTH ? k : DEPTH;
    intptr_t packed_a = NAME(rounded)(m, ROWS, STRIP_ROWS) * deepest, packed_b = NAME(rounded)(n, COLUMNS, STRIP_COLUMNS) * deepest;
    real *memory = malloc((packed_a + packed_b) * sizeof(real));
    if (!memory) return 0;
    for (intptr_t j = 0; j < n; j += COLUMNS) {
        intptr_t columns = n - j < COLUMNS ? n - j : COLUMNS;
        for (intptr_t d = 0; d < k; d += DEPTH) {
            intptr_t depth = k - d < DEPTH ? k - d : DEPTH;
            NAME(pack)(memory + packed_a, b.at + d * b.row + j * b.column, b.column, b.row, columns, depth, STRIP_COLUMNS, 1);
            for (intptr_t i = 0; i < m; i += ROWS) {
                intptr_t rows = m - i < ROWS ? m - i : ROWS;
                NAME(pack)(memory, a.at + i * a.row + d * a.column, a.row, a.column, rows, depth, STRIP_ROWS, alpha);
                NAME(block)(memory, memory + packed_a, rows, columns, depth, (char *)c.at + i * c.row + j * c.column, c.row, c.column);
            }
        }
    }
    free(memory);
    return 1;
}

real NAME(dot)(const char *a, intptr_t a_step, const char *b, intptr_t b_step, intptr_t n) {
    typedef NAME(vector) vector;
    real sum = 0;
    intptr_t i = 0;
    if (a_step == sizeof(real) && b_step == sizeof(real)) {
        vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        const vector *x = (const vector *)a, *y = (const vector *)b;
        for (; i + 4 * LANES <= n; i += 4 * LANES, x += 4, y += 4) s0 += x[0] * y[0], s1 += x[1] * y[1], s2 += x[2] * y[2], s3 += x[3] * y[3];
        s0 = (s0 + s1) + (s2 + s3);
        for (int lane = 0; lane < LANES; lane++) sum += s0[lane];
    }
    for (; i < n; i++) sum += *(const real *)(a + i * a_step) * *(const real *)(b + i * b_step);
    return sum;
}
#undef STRIP_COLUMNS
