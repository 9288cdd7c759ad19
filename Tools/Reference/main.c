// Prints "ready", then a line for every path that something happened to. Usage: bare-inotify DIRECTORY
#include "bare-inotify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char output[1 << 20];
static size_t filled;

static void flush(void *unused) {
    for (size_t done = 0; done < filled;) {
        ssize_t count = write(1, output + done, filled - done);
        if (count < 0 && errno != EINTR) exit(0);
        if (count > 0) done += (size_t)count;
    }
    filled = 0;
}

static void print(void *unused, const char *directory, const char *name) {
    if (filled + 8300 > sizeof output) flush(NULL);
    filled += (size_t)sprintf(output + filled, directory ? "%s/%s\n" : "%s%s\n", directory ? directory : "", name);
}

int main(int count, char **arguments) {
    if (count < 2) return 64;
    return bare_inotify(arguments[1], 0, print, flush, NULL);
}
