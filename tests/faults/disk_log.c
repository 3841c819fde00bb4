/* Records what a process does to names and to disk, for tests of power failures: LD_PRELOAD, DISK_LOG, DISK_COPIES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name, ...) static int (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

static int number;

static void note(const char *what, const char *a, const char *b, int copy) {
  char text[3 * PATH_MAX], full[PATH_MAX];
  if (a[0] != '/' && getcwd(full, sizeof full)) return; /* the tests use absolute paths */
  int length = snprintf(text, sizeof text, "%s\t%s\t%s\t%d\n", what, a, b, copy);
  int log = open(getenv("DISK_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0666);
  if (write(log, text, length) != length) abort();
  close(log);
}

/* Keeps what a name refers to now, as a further link. */
static int keep(const char *path) {
  static int (*real)(const char *, const char *);
  if (!real) real = dlsym(RTLD_NEXT, "link");
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

int fsync(int file) { REAL(fsync, int); int done = real(file); if (!done) note_file("sync", file); return done; }
int fdatasync(int file) { REAL(fdatasync, int); int done = real(file); if (!done) note_file("sync", file); return done; }
int rename(const char *a, const char *b) {
  REAL(rename, const char *, const char *);
  int copy = keep(a), done = real(a, b);
  if (!done) note("rename", a, b, copy);
  return done;
}
int link(const char *a, const char *b) {
  REAL(link, const char *, const char *);
  int copy = keep(a), done = real(a, b);
  if (!done) note("link", a, b, copy);
  return done;
}
int linkat(int x, const char *a, int y, const char *b, int flags) {
  REAL(linkat, int, const char *, int, const char *, int);
  int copy = keep(a), done = real(x, a, y, b, flags);
  if (!done) note("link", a, b, copy);
  return done;
}
int unlink(const char *a) {
  REAL(unlink, const char *);
  int done = real(a);
  if (!done) note("unlink", a, "", 0);
  return done;
}
int mkdir(const char *a, mode_t mode) {
  REAL(mkdir, const char *, mode_t);
  int done = real(a, mode);
  if (!done) note("mkdir", a, "", 0);
  return done;
}
