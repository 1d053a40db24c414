/* See include/float_status.h. Loops run a piece at a time, so that what came out is looked at while it is in the cache. */
#include <faster_loops.h>
#include <float_status.h>
#include <string.h>
#include <numpy/ndarraytypes.h>

static int status;
int status_watch_underflow;

int fetestexcept(int mask) { return status & mask; }
int feclearexcept(int mask) {
    status &= ~mask;
    return 0;
}
int feraiseexcept(int mask) {
    status |= mask;
    return 0;
}

enum { NONE, HALF, FLOAT, DOUBLE, QUAD };
enum { NO_POLE, POLE_OF_FIRST_ZERO, POLE_OF_LAST_ZERO, ALWAYS_POLE };
typedef enum { ZERO, SUBNORMAL, NORMAL, INFINITE, NAN_ } number_class;

/* ---------------------------------------------------------------- which loops, and how */

static int is_one_of(const char *name, const char *const *names) {
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return 1;
    return 0;
}

/* These raise nothing: they move, choose or round. */
static const char *const SILENT[] = {
    "_ones_like", "absolute", "ceil", "clip", "conjugate", "copysign", "fabs", "floor", "fmax", "fmin", "frexp", "heaviside",
    "maximum", "minimum", "modf", "negative", "nextafter", "positive", "rint", "sign", "spacing", "trunc", NULL};
static const char *const DIVISIONS[] = {"divide", "divmod", "floor_divide", "true_divide", NULL};
static const char *const POWERS[] = {"power", "float_power", "reciprocal", NULL};
static const char *const WITH_POLES[] = {"log", "log2", "log10", "log1p", "arctanh", NULL};
static const char *const UNDERFLOWING[] = {"multiply", "square", "divide", "true_divide", "power", "float_power", "exp", "exp2", NULL};

static int pole_of(const char *name) {
    if (is_one_of(name, DIVISIONS)) return POLE_OF_LAST_ZERO;
    if (is_one_of(name, POWERS)) return POLE_OF_FIRST_ZERO;
    return is_one_of(name, WITH_POLES) ? ALWAYS_POLE : NO_POLE;
}

static int set_operand(status_plan *plan, int i, int type) {
    static const struct {
        unsigned char format, parts, size;
    } FORMATS[] = {
        [NPY_HALF] = {HALF, 1, 2}, [NPY_FLOAT] = {FLOAT, 1, 4}, [NPY_DOUBLE] = {DOUBLE, 1, 8}, [NPY_LONGDOUBLE] = {QUAD, 1, 16},
        [NPY_CFLOAT] = {FLOAT, 2, 8}, [NPY_CDOUBLE] = {DOUBLE, 2, 16}, [NPY_CLONGDOUBLE] = {QUAD, 2, 32},
    };
    int known = type >= 0 && (size_t)type < sizeof FORMATS / sizeof *FORMATS && FORMATS[type].format != NONE;
    plan->operand[i].format = known ? FORMATS[type].format : NONE;
    plan->operand[i].parts = known ? FORMATS[type].parts : 0;
    plan->operand[i].size = known ? FORMATS[type].size : 0;
    return known;
}

int status_plan_loop(status_plan *plan, const char *name, int in, int out, const int *types, int has_core) {
    int wanted = 0;
    if (in + out > STATUS_OPERANDS) return 0;
    plan->faster = has_core ? NULL : faster_loop_for(name, in, out, types);
    for (int i = 0; i < in + out; i++) wanted |= set_operand(plan, i, types[i]) && i >= in;
    /* A complex number's absolute value can be too large. */
    plan->silent = !wanted || (plan->operand[0].parts != 2 && is_one_of(name, SILENT));
    if (plan->silent) return plan->faster != NULL;
    plan->in = in;
    plan->out = out;
    plan->product = has_core && strcmp(name, "matmul") == 0;
    if (has_core) return plan->product;
    plan->pole = pole_of(name);
    plan->underflows = is_one_of(name, UNDERFLOWING);
    return 1;
}

/* ---------------------------------------------------------------- one number */

static number_class classify(int format, const char *p) {
    uint64_t exponent, most, fraction;
    if (format == DOUBLE) {
        uint64_t bits;
        memcpy(&bits, p, 8);
        exponent = bits >> 52 & 0x7ff, most = 0x7ff, fraction = bits << 12;
    } else if (format == FLOAT) {
        uint32_t bits;
        memcpy(&bits, p, 4);
        exponent = bits >> 23 & 0xff, most = 0xff, fraction = bits << 9;
    } else if (format == HALF) {
        uint16_t bits;
        memcpy(&bits, p, 2);
        exponent = bits >> 10 & 0x1f, most = 0x1f, fraction = bits & 0x3ff;
    } else {
        uint64_t bits[2];
        memcpy(bits, p, 16);
        exponent = bits[1] >> 48 & 0x7fff, most = 0x7fff, fraction = bits[1] << 16 | bits[0];
    }
    if (exponent == most) return fraction ? NAN_ : INFINITE;
    return exponent ? NORMAL : fraction ? SUBNORMAL : ZERO;
}

/* The class of a number that may be complex: that of its worst part. */
static number_class worst(const status_plan *plan, int i, const char *p) {
    int format = plan->operand[i].format, parts = plan->operand[i].parts;
    if (format == NONE) return NORMAL;
    number_class first = classify(format, p), second = first;
    if (parts == 2) second = classify(format, p + plan->operand[i].size / 2);
    return first > second ? first : second;
}

static void note(const status_plan *plan, const char *const *in, const char *const *out) {
    number_class inputs[STATUS_OPERANDS];
    int any_nan = 0, all_finite = 1, any_zero = 0;
    for (int i = 0; i < plan->in; i++) {
        inputs[i] = worst(plan, i, in[i]);
        any_nan |= inputs[i] == NAN_;
        all_finite &= inputs[i] < INFINITE;
        any_zero |= inputs[i] == ZERO;
    }
    for (int i = 0; i < plan->out; i++) {
        int format = plan->operand[plan->in + i].format, parts = plan->operand[plan->in + i].parts;
        for (int part = 0; part < parts; part++) {
            number_class c = classify(format, out[i] + part * (plan->operand[plan->in + i].size / 2));
            if (c == NAN_ && !any_nan) status |= FE_INVALID;
            if (c == INFINITE && all_finite) {
                int pole = plan->pole == ALWAYS_POLE || (plan->pole == POLE_OF_FIRST_ZERO && inputs[0] == ZERO) ||
                           (plan->pole == POLE_OF_LAST_ZERO && inputs[plan->in - 1] == ZERO);
                status |= pole ? FE_DIVBYZERO : FE_OVERFLOW;
            }
            if (c <= SUBNORMAL && plan->underflows && all_finite && !any_zero && parts == 1) status |= FE_UNDERFLOW;
        }
    }
}

/* ---------------------------------------------------------------- a piece of a loop */

/* Whether there is anything to look at more closely. */
static int suspicious(int format, int parts, const char *p, intptr_t n, intptr_t step, int size) {
    n *= step == size ? parts : 1;
    if (step == size && format == DOUBLE) {
        const uint64_t *bits = (const uint64_t *)p;
        uint64_t found = 0;
#pragma clang loop vectorize_width(2) interleave_count(8)
        for (intptr_t i = 0; i < n; i++) found |= (bits[i] & 0x7ff0000000000000) + 0x0010000000000000;
        return found >> 63;
    }
    if (step == size && format == FLOAT) {
        const uint32_t *bits = (const uint32_t *)p;
        uint32_t found = 0;
#pragma clang loop vectorize_width(4) interleave_count(8)
        for (intptr_t i = 0; i < n; i++) found |= (bits[i] & 0x7f800000) + 0x00800000;
        return found >> 31;
    }
    n /= step == size ? parts : 1;
    for (intptr_t i = 0; i < n; i++, p += step)
        for (int part = 0; part < parts; part++)
            if (classify(format, p + part * (size / 2)) >= INFINITE) return 1;
    return 0;
}

static void look_at(const status_plan *plan, char *const *args, const intptr_t *steps, intptr_t n) {
    int look = status_watch_underflow && plan->underflows;
    for (int i = plan->in; i < plan->in + plan->out && !look; i++)
        if (plan->operand[i].format != NONE)
            look = suspicious(plan->operand[i].format, plan->operand[i].parts, args[i], n, steps[i], plan->operand[i].size);
    if (!look) return;
    const char *now[STATUS_OPERANDS];
    for (int i = 0; i < plan->in + plan->out; i++) now[i] = args[i];
    for (intptr_t k = 0; k < n; k++) {
        note(plan, now, now + plan->in);
        for (int i = 0; i < plan->in + plan->out; i++) now[i] += steps[i];
    }
}

#define PIECE 1024
#define LARGEST 32
/* Inputs that the loop is about to write its results over. Loops of floating-point numbers don't nest. */
static _Alignas(16) char kept[2][PIECE * LARGEST];

static void run(const status_plan *plan, status_loop loop, char **args, const intptr_t *n, const intptr_t *steps, void *data) {
    if (!plan->faster || !plan->faster(args, *n, steps)) loop(args, n, steps, data);
}

/* All of `in` becomes one number: whether one of them was a NaN or infinite decides. */
static void run_reduction(const status_plan *plan, status_loop loop, char **args, const intptr_t *n, const intptr_t *steps, void *data) {
    char first[LARGEST];
    int size = plan->operand[0].size;
    memcpy(first, args[0], size);
    run(plan, loop, args, n, steps, data);
    if (!suspicious(plan->operand[2].format, plan->operand[2].parts, args[2], 1, size, size)) return;
    number_class before = worst(plan, 0, first), after = worst(plan, 2, args[2]);
    const char *p = args[1];
    int any_zero = 0;
    for (intptr_t i = 0; i < *n; i++, p += steps[1]) {
        number_class c = worst(plan, 1, p);
        before = c > before ? c : before;
        any_zero |= c == ZERO;
    }
    if (after == NAN_ && before != NAN_) status |= FE_INVALID;
    if (after == INFINITE && before < INFINITE) status |= plan->pole == POLE_OF_LAST_ZERO && any_zero ? FE_DIVBYZERO : FE_OVERFLOW;
}

static number_class worst_of_matrix(const status_plan *plan, int i, const char *p, intptr_t rows, intptr_t row, intptr_t columns, intptr_t column) {
    number_class found = ZERO;
    for (intptr_t r = 0; r < rows && found != NAN_; r++)
        for (intptr_t c = 0; c < columns && found != NAN_; c++) {
            number_class here = worst(plan, i, p + r * row + c * column);
            found = here > found ? here : found;
        }
    return found;
}

/* Products of matrices (m, n) and (n, p). */
static void run_product(const status_plan *plan, status_loop loop, char **args, const intptr_t *dimensions, const intptr_t *steps, void *data) {
    char *in1 = args[0], *in2 = args[1], *out = args[2];
    loop(args, dimensions, steps, data);
    intptr_t m = dimensions[1], n = dimensions[2], p = dimensions[3];
    const intptr_t *core = steps + 3;
    for (intptr_t i = 0; i < dimensions[0]; i++, in1 += steps[0], in2 += steps[1], out += steps[2]) {
        int look = 0;
        for (intptr_t r = 0; r < m && !look; r++)
            look = suspicious(plan->operand[2].format, plan->operand[2].parts, out + r * core[4], p, core[5], plan->operand[2].size);
        if (!look) continue;
        number_class after = worst_of_matrix(plan, 2, out, m, core[4], p, core[5]);
        number_class before = worst_of_matrix(plan, 0, in1, m, core[0], n, core[1]);
        number_class second = worst_of_matrix(plan, 1, in2, n, core[2], p, core[3]);
        before = second > before ? second : before;
        if (after == NAN_ && before != NAN_) status |= FE_INVALID;
        if (before < INFINITE) status |= FE_OVERFLOW;
    }
}

void status_run_loop(const status_plan *plan, status_loop loop, char **args, const intptr_t *dimensions, const intptr_t *steps, void *data) {
    if (plan->silent) {
        run(plan, loop, args, dimensions, steps, data);
        return;
    }
    if (plan->product) {
        run_product(plan, loop, args, dimensions, steps, data);
        return;
    }
    intptr_t n = *dimensions;
    if (plan->in == 2 && plan->out == 1 && args[0] == args[2] && steps[0] == 0 && steps[2] == 0) {
        if (plan->operand[0].format == NONE) run(plan, loop, args, dimensions, steps, data);
        else run_reduction(plan, loop, args, dimensions, steps, data);
        return;
    }
    char *now[STATUS_OPERANDS], *looked[STATUS_OPERANDS];
    intptr_t looked_steps[STATUS_OPERANDS];
    int all = plan->in + plan->out;
    memcpy(now, args, all * sizeof *now);
    for (intptr_t done = 0; done < n; done += PIECE) {
        intptr_t piece = n - done < PIECE ? n - done : PIECE;
        int kept_count = 0;
        memcpy(looked, now, all * sizeof *looked);
        memcpy(looked_steps, steps, all * sizeof *looked_steps);
        for (int i = 0; i < plan->in; i++) {
            int size = plan->operand[i].size, overwritten = 0;
            for (int o = plan->in; o < all; o++) overwritten |= now[i] == now[o];
            if (!overwritten || size == 0 || kept_count == 2) continue;
            looked[i] = kept[kept_count++];
            looked_steps[i] = size;
            if (steps[i] == size) memcpy(looked[i], now[i], piece * size);
            else
                for (intptr_t k = 0; k < piece; k++) memcpy(looked[i] + k * size, now[i] + k * steps[i], size);
        }
        char *given[STATUS_OPERANDS];
        memcpy(given, now, all * sizeof *given);
        run(plan, loop, given, &piece, steps, data);
        look_at(plan, looked, looked_steps, piece);
        for (int i = 0; i < all; i++) now[i] += steps[i] * piece;
    }
}

void status_scalar(const char *operation, int type, const void *a, const void *b, const void *out) {
    number_class c = type == NPY_DOUBLE ? classify(DOUBLE, out) : type == NPY_FLOAT ? classify(FLOAT, out) : NAN_;
    if (c == NORMAL || (type <= NPY_ULONGLONG && type != NPY_HALF)) return;
    status_plan plan = {.in = b ? 2 : 1, .out = 1, .pole = pole_of(operation), .underflows = is_one_of(operation, UNDERFLOWING)};
    for (int i = 0; i < plan.in + 1; i++) set_operand(&plan, i, type);
    const char *in[] = {a, b}, *result = out;
    note(&plan, in, &result);
}
