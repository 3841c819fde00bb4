/* Lets one system call on a file in a directory fail, and counts them: LD_PRELOAD, then `fail_arm` through ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

enum { OPEN, READ, WRITE, SYNC, RENAME, LINK, LOCK, MKDIR, UNLINK, KINDS };
static long counts[KINDS], wanted_at;
static int wanted = -1, number, synced_again;
static char under[PATH_MAX], failed[PATH_MAX], lost[PATH_MAX];

/* Fail call `at` (from 1) of a kind with this errno; 0: none. All counts begin again. */
void fail_arm(int kind, long at, int error, const char *folder) {
  memset(counts, 0, sizeof counts);
  failed[0] = lost[0] = 0;
  synced_again = 0;
  strcpy(under, folder);
  wanted_at = at; number = error; wanted = at ? kind : -1;
}
long fail_count(int kind) { return counts[kind]; }
const char *fail_path(void) { return failed; }
/* Whether a content file whose sync failed was synchronised later. */
int fail_synced_again(void) { return synced_again; }

static int is_inside(const char *path) { return under[0] && path && !strncmp(path, under, strlen(under)); }

static int fails(int kind, const char *path) {
  if (!is_inside(path)) return 0;
  long count = __sync_add_and_fetch(&counts[kind], 1);
  if (kind != wanted || count != wanted_at) return 0;
  strcpy(failed, path);
  errno = number;
  return 1;
}
static const char *path_of(int file, char *path) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  long length = readlink(name, path, PATH_MAX - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  return path;
}
static int fails_at(int kind, int file) { char path[PATH_MAX]; return under[0] && fails(kind, path_of(file, path)); }

#define OPENS(name) \
int name(const char *path, int flags, ...) { \
  REAL(int, name, const char *, int, ...); \
  va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
  return fails(OPEN, path) ? -1 : real(path, flags, mode); \
}
OPENS(open)
OPENS(open64)

ssize_t read(int file, void *to, size_t count) { REAL(ssize_t, read, int, void *, size_t); return fails_at(READ, file) ? -1 : real(file, to, count); }
ssize_t pread64(int file, void *to, size_t count, off64_t at) { REAL(ssize_t, pread64, int, void *, size_t, off64_t); return fails_at(READ, file) ? -1 : real(file, to, count, at); }
ssize_t write(int file, const void *from, size_t count) { REAL(ssize_t, write, int, const void *, size_t); return fails_at(WRITE, file) ? -1 : real(file, from, count); }
ssize_t writev(int file, const struct iovec *from, int count) { REAL(ssize_t, writev, int, const struct iovec *, int); return fails_at(WRITE, file) ? -1 : real(file, from, count); }
static int sync_with(int file, int (*real)(int)) {
  char path[PATH_MAX];
  struct stat status;
  const char *name = under[0] ? path_of(file, path) : NULL;
  int is_content = name && !fstat(file, &status) && S_ISREG(status.st_mode) && !strchr(name, '#');
  if (name && fails(SYNC, name)) { if (is_content && number != EINTR) strcpy(lost, name); return -1; }
  int done = real(file);
  if (!done && is_content && !strcmp(name, lost)) synced_again = 1;
  return done;
}
int fsync(int file) { REAL(int, fsync, int); return sync_with(file, real); }
int fdatasync(int file) { REAL(int, fdatasync, int); return sync_with(file, real); }
int rename(const char *a, const char *b) { REAL(int, rename, const char *, const char *); return fails(RENAME, b) ? -1 : real(a, b); }
int link(const char *a, const char *b) { REAL(int, link, const char *, const char *); return fails(LINK, b) ? -1 : real(a, b); }
int linkat(int x, const char *a, int y, const char *b, int flags) { REAL(int, linkat, int, const char *, int, const char *, int); return fails(LINK, b) ? -1 : real(x, a, y, b, flags); }
int flock(int file, int what) { REAL(int, flock, int, int); return fails_at(LOCK, file) ? -1 : real(file, what); }
int mkdir(const char *path, mode_t mode) { REAL(int, mkdir, const char *, mode_t); return fails(MKDIR, path) ? -1 : real(path, mode); }
int unlink(const char *path) { REAL(int, unlink, const char *); return fails(UNLINK, path) ? -1 : real(path); }
