// libinotifytools, which is GPL-2.0-only: linked by the helper program inotifytools-source, and by no library.
#ifndef UBIQUITY_CINOTIFYTOOLS_H
#define UBIQUITY_CINOTIFYTOOLS_H

#include <sys/inotify.h>
#include <inotifytools/inotifytools.h>

#endif
