/* WebAssembly can't jump back without its exceptions, which this engine does not have switched on. The libraries here jump
 * only from what they can't go on with (a corrupt file): that ends the run. */
#ifndef PROOFBOX_SETJMP_H
#define PROOFBOX_SETJMP_H
#ifdef __cplusplus
extern "C" {
#endif
typedef int jmp_buf[1];
__attribute__((noreturn)) void proofbox_longjmp(void);
#define setjmp(buffer) ((void)(buffer), 0)
#define longjmp(buffer, value) ((void)(buffer), (void)(value), proofbox_longjmp())
#ifdef __cplusplus
}
#endif
#endif
