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
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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

/// getdents64(2), which glibc 2.30 and later wrap under _GNU_SOURCE only: the bytes read, 0 at the end, -1 with errno.
static inline long clinux_getdents(int fd, void *buffer, size_t size) {
    return syscall(SYS_getdents64, fd, buffer, size);
}

/// poll(2) with a nanosecond timeout: ppoll(2), which glibc declares under _GNU_SOURCE only; a negative timeout waits for ever.
static inline int clinux_poll(struct pollfd *fds, unsigned count, int64_t nanoseconds) {
    struct timespec limit = {.tv_sec = (time_t)(nanoseconds / 1000000000), .tv_nsec = (long)(nanoseconds % 1000000000)};
    return (int)syscall(SYS_ppoll, fds, count, nanoseconds < 0 ? (struct timespec *)0 : &limit, (void *)0, 0);
}

/// PR_SET_NAME of prctl(2): names the calling thread, at most 15 bytes.
static inline void clinux_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/// memfd_create(2) with MFD_CLOEXEC: a file in memory that has no name.
static inline int clinux_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1u);
}

/// FIONREAD of ioctl(2): the bytes that can be read at once; of an inotify descriptor, inotify(7).
static inline int clinux_readable_bytes(int fd) {
    int count = 0;
    return ioctl(fd, FIONREAD, &count) == 0 ? count : -1;
}

#endif
