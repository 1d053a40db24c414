/* SQLite's `random()` and temporary names: it seeds its generator once, which would be while the image is made, and from
 * /dev/urandom, which the sandbox does not have. */
#include "sqlite_randomness.h"
#include <sqlite3.h>
#include <stddef.h>
#include <unistd.h>

static int from_host(sqlite3_vfs *vfs, int length, char *out) {
    (void)vfs;
    for (int done = 0; done < length; done += 256) { /* getentropy gives 256 bytes at most */
        size_t part = length - done < 256 ? (size_t)(length - done) : 256;
        if (getentropy(out + done, part) != 0) return done;
    }
    return length;
}

int sqlite_reseed_in_each_run(void) {
    sqlite3_vfs *vfs = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find(NULL) : NULL;
    if (!vfs) return -1;
    vfs->xRandomness = from_host;
    sqlite3_randomness(0, NULL); /* forget what has been seeded: the next use asks again */
    return 0;
}
