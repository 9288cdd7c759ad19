// What Swift's Glibc module lacks: constants behind feature macros, and calls that glibc wraps
// only under _GNU_SOURCE. Inline functions only; nothing here keeps state.
#ifndef UBIQUITY_CLINUX_H
#define UBIQUITY_CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// fcntl(2): open file description locks. The kernel's numbers; glibc shows them under _GNU_SOURCE only.
static inline int clinux_ofd_lock(int fd, int exclusive, int wait) {
    struct flock lock = {.l_type = (short)(exclusive ? F_WRLCK : F_RDLCK), .l_whence = SEEK_SET};
    return fcntl(fd, wait ? 38 /* F_OFD_SETLKW */ : 37 /* F_OFD_SETLK */, &lock);
}

static inline int clinux_ofd_unlock(int fd) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    return fcntl(fd, 37 /* F_OFD_SETLK */, &lock);
}

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST where the target exists.
static inline int clinux_rename_new(int from_dir, const char *from, int to_dir, const char *to) {
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 1u);
}

/// renameat2(2) with RENAME_EXCHANGE: swaps two entries atomically.
static inline int clinux_exchange(int from_dir, const char *from, int to_dir, const char *to) {
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 2u);
}

#endif
