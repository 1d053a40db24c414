/* numpy's extension modules: modules.c. */
#ifndef PROOFBOX_NUMPY_MODULES_H
#define PROOFBOX_NUMPY_MODULES_H

/* Makes them importable; before Python is initialised. -1 when there is no memory. */
int numpy_modules_register(void);
#endif
