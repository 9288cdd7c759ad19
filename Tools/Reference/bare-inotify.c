// The reference of the watching benchmarks: a plain inotify loop in C that loses nothing in the seven tests, and does nothing else.
// Prints "ready", then a line for every path that something happened to; with --times, each line begins with the monotonic
// nanoseconds at which read(2) gave the event. Usage: bare-inotify DIRECTORY [--times]
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MASK (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

static int queue, with_times;
static char **paths;  // by watch descriptor
static int capacity, parent_watch;
static char *root, *root_name;
static char output[1 << 20];
static size_t filled;
static long long now;

static void flush(void) {
    for (size_t done = 0; done < filled;) {
        ssize_t count = write(1, output + done, filled - done);
        if (count < 0 && errno != EINTR) exit(0);
        if (count > 0) done += (size_t)count;
    }
    filled = 0;
}

static void print(const char *directory, const char *name) {
    if (filled + 8300 > sizeof output) flush();
    if (with_times) filled += (size_t)sprintf(output + filled, "%lld ", now);
    filled += (size_t)sprintf(output + filled, name ? "%s/%s\n" : "%s\n", directory, name);
}

static char *join(const char *directory, const char *name) {
    char *path = malloc(strlen(directory) + strlen(name) + 2);
    sprintf(path, "%s/%s", directory, name);
    return path;
}

// Watches a directory, then lists it, so that nothing falls between; prints what it finds when asked to.
static void add(const char *path, int printing) {
    int watch = inotify_add_watch(queue, path, MASK);
    if (watch < 0) return;
    if (watch >= capacity) {
        int larger = watch * 2 + 1024;
        paths = realloc(paths, (size_t)larger * sizeof *paths);
        memset(paths + capacity, 0, (size_t)(larger - capacity) * sizeof *paths);
        capacity = larger;
    }
    free(paths[watch]);
    paths[watch] = strdup(path);
    DIR *directory = opendir(path);
    if (!directory) return;
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] == '.' && (!entry->d_name[1] || (entry->d_name[1] == '.' && !entry->d_name[2]))) continue;
        if (printing) print(path, entry->d_name);
        if (entry->d_type == DT_DIR) {
            char *child = join(path, entry->d_name);
            add(child, printing);
            free(child);
        }
    }
    closedir(directory);
}

static int is_below(const char *path, const char *top, size_t length) {
    return !strncmp(path, top, length) && (!path[length] || path[length] == '/');
}

static void forget(const char *top) {
    size_t length = strlen(top);
    for (int watch = 0; watch < capacity; watch++)
        if (paths[watch] && is_below(paths[watch], top, length)) {
            inotify_rm_watch(queue, watch);
            free(paths[watch]);
            paths[watch] = NULL;
        }
}

static void rename_below(const char *from, const char *to) {
    size_t length = strlen(from);
    for (int watch = 0; watch < capacity; watch++)
        if (paths[watch] && is_below(paths[watch], from, length)) {
            char *path = malloc(strlen(to) + strlen(paths[watch] + length) + 1);
            sprintf(path, "%s%s", to, paths[watch] + length);
            free(paths[watch]);
            paths[watch] = path;
        }
}

static char *moving;  // a directory that moved away, until its new place or its end is known
static unsigned moving_cookie;

static void settle(void) {
    if (!moving) return;
    forget(moving);
    free(moving);
    moving = NULL;
}

static void take(const struct inotify_event *event) {
    if (event->mask & IN_Q_OVERFLOW) {
        settle();
        add(root, 1);
        return;
    }
    if (event->wd == parent_watch && event->len && !strcmp(event->name, root_name)) {
        if (event->mask & (IN_CREATE | IN_MOVED_TO)) add(root, 1);
        if (event->mask & (IN_DELETE | IN_MOVED_FROM)) forget(root);
        return;
    }
    if (moving && !((event->mask & IN_MOVED_TO) && event->cookie == moving_cookie)) settle();
    if (event->wd < 0 || event->wd >= capacity || !paths[event->wd]) return;
    const char *directory = paths[event->wd];
    if (event->mask & IN_IGNORED) {
        free(paths[event->wd]);
        paths[event->wd] = NULL;
        return;
    }
    if (!event->len) return;
    print(directory, event->name);
    if (!(event->mask & IN_ISDIR)) return;
    char *path = join(directory, event->name);
    if (event->mask & IN_MOVED_FROM) {
        moving = strdup(path);
        moving_cookie = event->cookie;
    } else if ((event->mask & IN_MOVED_TO) && moving) {
        rename_below(moving, path);
        free(moving);
        moving = NULL;
    } else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
        add(path, 1);
    }
    free(path);
}

int main(int count, char **arguments) {
    if (count < 2) return 64;
    with_times = count > 2 && !strcmp(arguments[2], "--times");
    root = realpath(arguments[1], NULL);
    if (!root) return 1;
    queue = inotify_init1(IN_CLOEXEC);
    char *slash = strrchr(root, '/');
    root_name = slash + 1;
    *slash = 0;
    parent_watch = inotify_add_watch(queue, *root ? root : "/", IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
    *slash = '/';
    add(root, 0);
    now = 0;
    print("ready", NULL);
    flush();
    static char buffer[65536] __attribute__((aligned(8)));
    for (;;) {
        ssize_t size = read(queue, buffer, sizeof buffer);
        if (size <= 0) return errno == EINTR ? 0 : 1;
        if (with_times) {
            struct timespec time;
            clock_gettime(CLOCK_MONOTONIC, &time);
            now = time.tv_sec * 1000000000LL + time.tv_nsec;
        }
        for (char *at = buffer; at < buffer + size; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len)
            take((struct inotify_event *)at);
        flush();
    }
}
