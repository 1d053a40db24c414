/* Output that Python has buffered and the host has not seen: pending.c. */
#ifndef PROOFBOX_PENDING_H
#define PROOFBOX_PENDING_H

/* Finds the buffers; -1 when they are not where they are expected. Once, while the image is made. */
int pending_prepare(void);
#endif
