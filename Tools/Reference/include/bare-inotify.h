// A plain inotify loop, the reference of the watching benchmarks. One runs at a time in a process.
#ifndef BARE_INOTIFY_H
#define BARE_INOTIFY_H

// Something happened to an entry of a directory; with no directory and the name "ready", everything is watched.
typedef void (*bare_report)(void *context, const char *directory, const char *name);
// Everything that one read(2) gave was reported.
typedef void (*bare_drained)(void *context);

// Watches the tree at `path` until the queue fails, or the root is deleted if `ends_with_root`; returns 0 or 1.
int bare_inotify(const char *path, int ends_with_root, bare_report report, bare_drained drained, void *context);

// The same, until the root is deleted, with a semaphore and a second thread between read(2) and `report`.
int bare_inotify_two_threads(const char *path, bare_report report, void *context);

#endif
