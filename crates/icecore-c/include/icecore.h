/* icecore from C, C++ and Fortran: write blocks of arrays, commit them as a version, read boxes.
 *
 * Functions that return int return 0, or -1 after an error; icecore_open returns NULL after one. icecore_error() then
 * describes the error of the calling thread. Several threads may use one handle, but only the process that opened it.
 * Arrays are in C order: the last axis varies fastest. (Fortran declares the axes in reverse.) */
#ifndef ICECORE_H
#define ICECORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most axes of an array. */
#define ICECORE_MAX_RANK 32

typedef struct icecore icecore;

/* Opens a repository: a directory, s3://bucket/prefix (also gs://, az://; credentials from the environment), or http(s)://.
 * mode: "r" reads; "w" writes, and creates the repository if it does not exist.
 * version: for "r" a branch, tag, snapshot id or ISO time; for "w" a branch; NULL: main. */
icecore *icecore_open(const char *address, const char *mode, const char *version);

/* Declares an array. A stored one must have the same dtype, chunks and axes but for the length of the first, which stays.
 * dtype: "float32", "int16", … or "f4", "i2", …
 * shape, chunks: `rank` lengths. shape[0] may be 0: writes extend the first axis.
 * dims: names of the dimensions, separated by commas, or NULL.
 * codecs: a JSON list of Zarr codecs, or NULL: shuffled bytes, Zstandard in Blosc, a checksum. */
int icecore_array(icecore *repo, const char *path, const char *dtype, int rank, const int64_t *shape,
                  const int64_t *chunks, const char *dims, const char *codecs);

/* Sets the attributes of an array or a group: a JSON object. A missing group is created. */
int icecore_attributes(icecore *repo, const char *path, const char *json);

/* Writes a block of `bytes` bytes in native byte order. It consists of whole chunks, but for the ends of the array; a
 * block that ends behind the first axis extends it. The data is copied; encoding continues after the return. */
int icecore_write(icecore *repo, const char *path, const int64_t *start, const int64_t *shape, const void *data,
                  size_t bytes);

/* Commits everything that was written as one version, all or nothing. Afterwards the handle can be used again. */
int icecore_commit(icecore *repo, const char *message);

/* The number of axes of an array, and their lengths in shape, which has room for ICECORE_MAX_RANK of them. */
int icecore_shape(icecore *repo, const char *path, int *rank, int64_t *shape);

/* Reads a box into a buffer of `bytes` bytes, in the array's dtype and native byte order. A handle for writing reads what
 * it wrote, committed or not. */
int icecore_read(icecore *repo, const char *path, const int64_t *start, const int64_t *shape, void *data, size_t bytes);

/* Ranks of a parallel model: all open the repository, declare the arrays and write their blocks. Each but one calls
 * icecore_take, and its message (a few bytes for each chunk) travels to that one, which calls icecore_merge with each and
 * then icecore_commit. icecore_take waits until the data is stored; the handle is ready for the next step.
 * Free the message with icecore_free. */
int icecore_take(icecore *repo, void **message, size_t *bytes);
int icecore_merge(icecore *repo, const void *message, size_t bytes);
void icecore_free(void *message, size_t bytes);

/* Closes a handle; what was not committed is discarded. NULL is allowed. */
void icecore_close(icecore *repo);

/* The last error of this thread: "error[KIND]: what is wrong", and on the next line what to try. Valid until the thread's
 * next call. */
const char *icecore_error(void);

#ifdef __cplusplus
}
#endif
#endif
