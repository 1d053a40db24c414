/* Randomness for SQLite: sqlite_randomness.c. */
#ifndef PROOFBOX_SQLITE_RANDOMNESS_H
#define PROOFBOX_SQLITE_RANDOMNESS_H

/* Has SQLite seed itself from the host, anew in each run; -1 on failure. While the image is made, after all use. */
int sqlite_reseed_in_each_run(void);
#endif
