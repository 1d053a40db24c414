/* WebAssembly has no floating-point status register. numpy asks for it by these names; float_status.c keeps it, under
 * others, as libc has functions of these that do nothing. */
#ifndef PROOFBOX_FENV_H
#define PROOFBOX_FENV_H
#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
#define FE_ALL_EXCEPT (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)
#define FE_TONEAREST 0
typedef unsigned fexcept_t;
typedef struct {
    unsigned status;
} fenv_t;
#ifdef __cplusplus
extern "C" {
#endif
int fetestexcept(int) __asm__("proofbox_fetestexcept");
int feclearexcept(int) __asm__("proofbox_feclearexcept");
int feraiseexcept(int) __asm__("proofbox_feraiseexcept");
#ifdef __cplusplus
}
#endif
#endif
