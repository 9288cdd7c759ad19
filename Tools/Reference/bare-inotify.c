// The reference of the watching benchmarks: a plain inotify loop in C that loses nothing in the seven tests, and does nothing else.
#define _GNU_SOURCE
#include "bare-inotify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MASK (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

static int queue;
static char **paths;  // by watch descriptor
static int capacity, parent_watch;
static char *root, *root_name;
static int is_gone;  // the root was deleted
static bare_report report;
static void *context;

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
        if (printing) report(context, path, entry->d_name);
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
        if (event->mask & IN_DELETE) is_gone = 1;
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
    report(context, directory, event->name);
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

int bare_inotify(const char *path, int ends_with_root, bare_report function, bare_drained drained, void *argument) {
    report = function;
    context = argument;
    is_gone = 0;
    root = realpath(path, NULL);
    if (!root) return 1;
    queue = inotify_init1(IN_CLOEXEC);
    char *slash = strrchr(root, '/');
    root_name = slash + 1;
    *slash = 0;
    parent_watch = inotify_add_watch(queue, *root ? root : "/", IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
    *slash = '/';
    add(root, 0);
    report(context, NULL, "ready");
    drained(context);
    static char buffer[65536] __attribute__((aligned(8)));
    int status = 0;
    while (!(is_gone && ends_with_root)) {
        ssize_t size = read(queue, buffer, sizeof buffer);
        if (size <= 0) {
            status = errno == EINTR ? 0 : 1;
            break;
        }
        for (char *at = buffer; at < buffer + size; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len)
            take((struct inotify_event *)at);
        drained(context);
    }
    close(queue);
    for (int watch = 0; watch < capacity; watch++) free(paths[watch]);
    free(paths);
    free(root);
    paths = NULL;
    capacity = 0;
    return status;
}

// Names between two threads, in a ring that the benchmark's pace never fills.
enum { RING = 4096 };
static char ring[RING][256];
static unsigned written, taken;
static sem_t waiting;

static void hand_over(void *unused, const char *directory, const char *name) {
    snprintf(ring[written++ % RING], sizeof ring[0], "%s", name);
    sem_post(&waiting);
}

static void nothing(void *unused) {}

struct second {
    bare_report report;
    void *context;
};

static void *second_thread(void *argument) {
    struct second *second = argument;
    for (;;) {
        while (sem_wait(&waiting) != 0) {
        }
        const char *name = ring[taken++ % RING];
        if (!*name) return NULL;
        second->report(second->context, NULL, name);
    }
}

int bare_inotify_two_threads(const char *path, bare_report function, void *argument) {
    struct second second = {function, argument};
    pthread_t thread;
    written = taken = 0;
    sem_init(&waiting, 0, 0);
    if (pthread_create(&thread, NULL, second_thread, &second) != 0) return 1;
    int status = bare_inotify(path, 1, hand_over, nothing, NULL);
    hand_over(NULL, NULL, "");
    pthread_join(thread, NULL);
    sem_destroy(&waiting);
    return status;
}
