// What Swift's Glibc module lacks: constants behind feature macros, and calls that glibc wraps
// only under _GNU_SOURCE. Inline functions only; nothing here keeps state. No feature macro is set:
// it would give the system's types other members than the Glibc module's, and the two could not be
// imported together.
#ifndef UBIQUITY_CLINUX_H
#define UBIQUITY_CLINUX_H

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/// open(2): the kernel's number; glibc shows it under _GNU_SOURCE only.
#ifndef O_PATH
#define O_PATH 010000000
#endif

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

/// The calling thread's nice value: on Linux it is each thread's own (setpriority(2), “C library/kernel differences”).
static inline int clinux_nice(void) { return getpriority(PRIO_PROCESS, 0); }

/// The calling thread's level in the disk's queue, 0 to 7, where it has one of its own in the best-effort class; else -1 (ioprio_set(2)).
static inline int clinux_io_level(void) {
    long priority = syscall(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, 0);
    return priority >> 13 == 2 /* IOPRIO_CLASS_BE */ ? (int)(priority & 7) : -1;
}

/// Lets the calling thread give way to others: a greater nice value, and the last level in the disk's queue. It cannot go back without privileges.
static inline void clinux_give_way(int nicer) {
    setpriority(PRIO_PROCESS, 0, clinux_nice() + nicer);
    syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, 2 /* IOPRIO_CLASS_BE */ << 13 | 7);
}

/// A file's times in nanoseconds since 1970, stat(2). In some builds the members of struct timespec belong to another module than Glibc for
/// Swift, which then refuses them (MemberImportVisibility).
static inline int64_t clinux_modified(const struct stat *status) {
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

static inline int64_t clinux_accessed(const struct stat *status) {
    return (int64_t)status->st_atim.tv_sec * 1000000000 + status->st_atim.tv_nsec;
}

static inline int64_t clinux_changed(const struct stat *status) {
    return (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec;
}

/// A lease of a file, fcntl(2): for writing, which is given only while nobody else has the file open, or for reading, while
/// nobody has it open for writing. When somebody opens it, SIGURG is sent, which is ignored; SIGIO, the default, would end the process.
static inline int clinux_lease(int fd, int writing) {
    if (fcntl(fd, 10 /* F_SETSIG */, 23 /* SIGURG */) != 0) return -1;
    return fcntl(fd, 1024 /* F_SETLEASE */, writing ? F_WRLCK : F_RDLCK);
}

/// Whether a lease still stands, so that nobody has tried since to open the file in a way that it excludes.
static inline int clinux_has_lease(int fd, int writing) { return fcntl(fd, 1025 /* F_GETLEASE */) == (writing ? F_WRLCK : F_RDLCK); }

/// F_SETFL of fcntl(2): reading from here on does not count as an access to the file, where its owner does it; for others nothing changes.
static inline void clinux_keep_access_time(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0) fcntl(fd, F_SETFL, flags | 01000000 /* O_NOATIME */);
}

/// lgetxattr(2): the length of an attribute of a file, no link followed; -1 with errno.
static inline long clinux_get_attribute(const char *path, const char *name, void *value, size_t size) {
    return lgetxattr(path, name, value, size);
}

/// fsetxattr(2): gives an open file an attribute, in the place of any other of the name.
static inline int clinux_set_attribute(int fd, const char *name, const void *value, size_t size) {
    return fsetxattr(fd, name, value, size, 0);
}

/// PR_SET_NAME of prctl(2): names the calling thread, at most 15 bytes.
static inline void clinux_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/// sched_setattr(2): asks for time slices of so many nanoseconds for the calling thread, which keeps its policy and nice value; 0 asks for
/// the usual ones. Since Linux 6.12 a normal thread with short slices is let in sooner when it wakes; older kernels take no notice. glibc
/// 2.36 wraps neither call.
static inline int clinux_shorten_slices(uint64_t nanoseconds) {
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; } attributes = {0};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return -1;
    if (attributes.policy != 0 /* SCHED_OTHER */) return 0;
    attributes.runtime = nanoseconds;
    attributes.deadline = attributes.period = 0;
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/// mallopt(3): blocks of 128 KiB and more come from mmap(2), so that one that was outgrown goes back to the system. By itself the
/// threshold rises with the largest block that was ever freed.
static inline void clinux_return_large_blocks(void) {
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

/// Stores a number with one instruction after everything before it, at any address: a process that is killed has stored all of it or nothing.
static inline void clinux_publish(void *place, uint32_t number) {
    struct __attribute__((packed)) word { uint32_t number; };
    __atomic_thread_fence(__ATOMIC_RELEASE);
    ((volatile struct word *)place)->number = number;
}

/// openat2(2): whether this is a directory that is reached without a symbolic link; 0 too where the system cannot tell.
static inline int clinux_is_directory_without_links(const char *path) {
    struct { uint64_t flags, mode, resolve; } how = {O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 4 /* RESOLVE_NO_SYMLINKS */};
    int fd = (int)syscall(437 /* SYS_openat2 */, AT_FDCWD, path, &how, sizeof how);
    if (fd < 0) return 0;
    close(fd);
    return 1;
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

/// fcntl(2): an exclusive open file description lock of one byte; with `wait`, blocks until it can be had.
static inline int clinux_ofd_lock_byte(int fd, int64_t byte, int wait) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, wait ? 38 /* F_OFD_SETLKW */ : 37 /* F_OFD_SETLK */, &lock);
}

static inline int clinux_ofd_unlock_byte(int fd, int64_t byte) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, 37 /* F_OFD_SETLK */, &lock);
}

/// F_OFD_GETLK: whether another description has locked a byte; -1 with errno.
static inline int clinux_ofd_is_locked_byte(int fd, int64_t byte) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (fcntl(fd, 36 /* F_OFD_GETLK */, &lock) < 0) return -1;
    return lock.l_type != F_UNLCK;
}

/// pidfd_open(2): readable once the process has ended.
static inline int clinux_pidfd_open(int pid) {
    return (int)syscall(434 /* SYS_pidfd_open */, pid, 0u);
}

/// SO_PEERCRED of unix(7): who connected; 0, or -1 with errno.
static inline int clinux_peer(int fd, int *pid, unsigned *uid) {
    struct { int pid; unsigned uid, gid; } peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, 17 /* SO_PEERCRED */, &peer, &size) < 0) return -1;
    *pid = peer.pid;
    *uid = peer.uid;
    return 0;
}

/// The address of a Unix socket, unix(7); -1 where the path is too long.
static inline int clinux_unix_address(struct sockaddr_un *address, const char *path) {
    size_t size = strlen(path) + 1;
    if (size > sizeof address->sun_path) return -1;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, size);
    return 0;
}

static inline int clinux_unix_connect(int fd, const char *path) {
    struct sockaddr_un address;
    if (clinux_unix_address(&address, path) < 0) { errno = ENAMETOOLONG; return -1; }
    return connect(fd, (struct sockaddr *)&address, sizeof address);
}

static inline int clinux_unix_bind(int fd, const char *path) {
    struct sockaddr_un address;
    if (clinux_unix_address(&address, path) < 0) { errno = ENAMETOOLONG; return -1; }
    return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static inline int clinux_stream_socket(int nonblocking) {
    return socket(AF_UNIX, SOCK_STREAM | 02000000 /* SOCK_CLOEXEC */ | (nonblocking ? 04000 /* SOCK_NONBLOCK */ : 0), 0);
}

/// accept4(2) with SOCK_CLOEXEC and SOCK_NONBLOCK.
static inline int clinux_accept(int fd) {
    return (int)syscall(SYS_accept4, fd, (void *)0, (void *)0, 02000000 | 04000);
}

/// sendmsg(2) of bytes with a descriptor, unix(7); never raises SIGPIPE.
static inline long clinux_send_descriptor(int socket, const void *bytes, size_t count, int descriptor) {
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    memset(&control, 0, sizeof control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

/// recvmsg(2); a descriptor that came along is stored, close-on-exec, else -1.
static inline long clinux_receive_descriptor(int socket, void *bytes, size_t count, int *descriptor) {
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec vector = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    *descriptor = -1;
    long received = recvmsg(socket, &message, 0x40000000 /* MSG_CMSG_CLOEXEC */);
    if (received < 0) return received;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    }
    return received;
}

/// A datagram socket, unix(7).
static inline int clinux_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | 02000000 /* SOCK_CLOEXEC */, 0); }

/// sendmsg(2) of a datagram to a path, or to the abstract name that follows `@`, with a descriptor unless that is -1; never raises SIGPIPE.
/// It does not block, unless it waits: then as long as SO_SNDTIMEO says.
static inline long clinux_send_datagram(int socket, const char *name, const void *bytes, size_t count, int descriptor, int waits) {
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
    size_t length = strlen(name);
    int isAbstract = name[0] == '@';
    if (length + !isAbstract > sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
    memcpy(address.sun_path, name, length);
    if (isAbstract) address.sun_path[0] = 0;
    struct msghdr message = {
        .msg_name = &address, .msg_namelen = (socklen_t)(sizeof address - sizeof address.sun_path + length + !isAbstract),
        .msg_iov = &vector, .msg_iovlen = count > 0};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}

static inline int clinux_epoll_create(void) { return (int)syscall(SYS_epoll_create1, 02000000 /* EPOLL_CLOEXEC */); }

/// epoll_ctl(2) with a number as the event's data.
static inline int clinux_epoll_set(int epoll, int operation, int fd, unsigned events, uint64_t tag) {
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return epoll_ctl(epoll, operation, fd, &event);
}

/// epoll_wait(2): stores tags and events of at most 64 descriptors.
static inline int clinux_epoll_wait(int epoll, uint64_t *tags, unsigned *events, int milliseconds) {
    struct epoll_event ready[64];
    int count = epoll_wait(epoll, ready, 64, milliseconds);
    for (int index = 0; index < count; index++) {
        tags[index] = ready[index].data.u64;
        events[index] = ready[index].events;
    }
    return count;
}

/// memfd_create(2): a file in memory of this size, which nobody can make larger or smaller any more.
static inline int clinux_sealed_memory(const char *name, size_t size) {
    int fd = (int)syscall(SYS_memfd_create, name, 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
    if (fd < 0) return -1;
    if (ftruncate(fd, (off_t)size) < 0 || fcntl(fd, 1033 /* F_ADD_SEALS */, 7 /* SEAL, SHRINK, GROW */) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/// memfd_create(2): a file in memory with these bytes, which nobody can change any more.
static inline int clinux_finished_memory(const char *name, const void *bytes, size_t count) {
    int fd = (int)syscall(SYS_memfd_create, name, 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
    if (fd < 0) return -1;
    size_t written = 0;
    while (written < count) {
        long more = write(fd, (const char *)bytes + written, count - written);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        written += (size_t)more;
    }
    if (written < count || fcntl(fd, 1033 /* F_ADD_SEALS */, 15 /* SEAL, SHRINK, GROW, WRITE */) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

// A number in memory that two processes share.
static inline int clinux_exchange_word(uint64_t *word, uint64_t expected, uint64_t desired) {
    return __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline uint64_t clinux_load_word(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static inline void clinux_store_word(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }

/// clock_gettime(2) of CLOCK_MONOTONIC, or of CLOCK_MONOTONIC_COARSE, in nanoseconds.
static inline uint64_t clinux_monotonic_nanoseconds(int coarse) {
    struct timespec time = {0, 0};
    clock_gettime(coarse ? 6 : 1, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/// close_range(2): closes every descriptor from this one on.
static inline int clinux_close_from(unsigned first) { return (int)syscall(436 /* SYS_close_range */, first, ~0u, 0u); }

/// pipe2(2) with O_CLOEXEC.
static inline int clinux_pipe(int *ends) { return (int)syscall(SYS_pipe2, ends, 02000000); }

/// environ(7).
static inline char **clinux_environment(void) { return __environ; }

/// fork(2), which Swift hides, for tests of what a child inherits; the child may only call what signal-safety(7) allows.
static inline int clinux_fork(void) { return (int)fork(); }

/// statfs(2): what a path lies on, and what room there is; sizes in bytes.
struct clinux_filesystem {
    uint64_t type, size, available, files, free_files;
};

static inline int clinux_statfs(const char *path, struct clinux_filesystem *facts) {
    struct statfs status;
    if (statfs(path, &status) < 0) return -1;
    facts->type = (uint64_t)status.f_type & 0xffffffff;
    uint64_t unit = (uint64_t)(status.f_frsize ? status.f_frsize : status.f_bsize);
    facts->size = status.f_blocks * unit;
    facts->available = status.f_bavail * unit;
    facts->files = status.f_files;
    facts->free_files = status.f_ffree;
    return 0;
}

/// quotactl_fd(2) with Q_GETQUOTA, since Linux 5.14: a user's quota where a descriptor lies, in bytes; -1 with errno where there is none.
static inline int clinux_quota(int fd, unsigned user, uint64_t *limit, uint64_t *used) {
    struct {
        uint64_t block_hard, block_soft, space, inode_hard, inode_soft, inodes, block_time, inode_time;
        uint32_t valid;
    } quota = {0};
    if (syscall(443 /* SYS_quotactl_fd */, fd, 0x80000700u /* QCMD(Q_GETQUOTA, USRQUOTA) */, user, &quota) < 0) return -1;
    // Limits are in units of 1 KiB, what is used in bytes.
    *limit = quota.block_hard * 1024;
    *used = quota.space;
    return 0;
}

/// FS_IOC_GETFLAGS of ioctl_iflags(2): 1 where a directory takes names for equal that differ in case only, else 0.
static inline int clinux_folds_case(int fd) {
    long flags = 0;
    return ioctl(fd, 0x80086601ul, &flags) == 0 && (flags & 0x40000000) != 0;
}

#endif
