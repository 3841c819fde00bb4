/* Records what processes do to names and to disk, for tests of power failures: LD_PRELOAD, DISK_LOG, DISK_COPIES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

static int number;

static void note(const char *what, const char *a, const char *b, int copy) {
  char text[3 * PATH_MAX], full[PATH_MAX];
  if (a[0] != '/' && getcwd(full, sizeof full)) return; /* the tests use absolute paths */
  int length = snprintf(text, sizeof text, "%s\t%s\t%s\t%d-%d\n", what, a, b, getpid(), copy);
  REAL(ssize_t, write, int, const void *, size_t);
  int log = open(getenv("DISK_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (real(log, text, length) != length) abort();
  close(log);
}

/* Keeps what a name refers to now, as a further link. */
static int keep(const char *path) {
  REAL(int, link, const char *, const char *);
  char copy[PATH_MAX];
  int mine = __sync_add_and_fetch(&number, 1);
  snprintf(copy, sizeof copy, "%s/%d-%d", getenv("DISK_COPIES"), getpid(), mine);
  real(path, copy);
  return mine;
}

static void note_file(const char *what, int file) {
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  long length = readlink(name, path, sizeof path - 1);
  if (length > 0) { path[length] = 0; note(what, path, "", 0); }
}

/* Only files of repositories and outputs: not pipes, caches of Python and the log itself. */
static void note_write(int file) {
  char name[64], path[PATH_MAX];
  const char *home = getenv("DISK_HOME");
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  long length = readlink(name, path, sizeof path - 1);
  if (length <= 0 || !home) return;
  path[length] = 0;
  if (!strncmp(path, home, strlen(home)) && strcmp(path, getenv("DISK_LOG"))) note("write", path, "", 0);
}

int fsync(int file) { REAL(int, fsync, int); int done = real(file); if (!done) note_file("sync", file); return done; }
int fdatasync(int file) { REAL(int, fdatasync, int); int done = real(file); if (!done) note_file("sync", file); return done; }
ssize_t write(int file, const void *bytes, size_t count) {
  REAL(ssize_t, write, int, const void *, size_t);
  ssize_t done = real(file, bytes, count);
  if (done > 0) note_write(file);
  return done;
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(ssize_t, writev, int, const struct iovec *, int);
  ssize_t done = real(file, parts, count);
  if (done > 0) note_write(file);
  return done;
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  ssize_t done = real(file, bytes, count, at);
  if (done > 0) note_write(file);
  return done;
}
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t count, unsigned flags) {
  REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned);
  ssize_t done = real(from, a, to, b, count, flags);
  if (done > 0) note_write(to);
  return done;
}
int rename(const char *a, const char *b) {
  REAL(int, rename, const char *, const char *);
  int copy = keep(a), done = real(a, b);
  if (!done) note("rename", a, b, copy);
  return done;
}
int link(const char *a, const char *b) {
  REAL(int, link, const char *, const char *);
  int copy = keep(a), done = real(a, b);
  if (!done) note("link", a, b, copy);
  return done;
}
int linkat(int x, const char *a, int y, const char *b, int flags) {
  REAL(int, linkat, int, const char *, int, const char *, int);
  int copy = keep(a), done = real(x, a, y, b, flags);
  if (!done) note("link", a, b, copy);
  return done;
}
int unlink(const char *a) {
  REAL(int, unlink, const char *);
  int done = real(a);
  if (!done) note("unlink", a, "", 0);
  return done;
}
int mkdir(const char *a, mode_t mode) {
  REAL(int, mkdir, const char *, mode_t);
  int done = real(a, mode);
  if (!done) note("mkdir", a, "", 0);
  return done;
}
int rmdir(const char *a) {
  REAL(int, rmdir, const char *);
  int done = real(a);
  if (!done) note("unlink", a, "", 0);
  return done;
}
