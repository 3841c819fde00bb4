/* Wrong calls: each fails with its kind, and the handle stays usable. */
#include <icecore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static icecore *repo;

static void fails(int line, int status, const char *expected) {
    if (status == -1 && strstr(icecore_error(), expected)) return;
    fprintf(stderr, "line %d: status %d, expected \"%s\", got: %s\n", line, status, expected, icecore_error());
    exit(1);
}

static void works(int line, int status) {
    if (status == 0) return;
    fprintf(stderr, "line %d: %s\n", line, icecore_error());
    exit(1);
}

#define FAILS(status, expected) fails(__LINE__, status, expected)
#define WORKS(status) works(__LINE__, status)

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    int64_t shape[] = {0, 6}, chunks[] = {2, 3}, zero[] = {0, 0}, other[] = {0, 7}, none[] = {0, 3}, less[] = {-1, 0};
    int64_t box[] = {2, 6}, half[] = {1, 6}, behind[] = {1, 0}, one[] = {2, 3}, right[] = {0, 3};
    double data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, found[12];
    float small[12];
    FAILS(icecore_commit(NULL, "x"), "error[invalid]: the handle is NULL");
    if (icecore_open(argv[1], "r", NULL)) return 1;
    FAILS(-1, "error[not-found]");
    if (icecore_open(argv[1], "a", NULL)) return 1;
    FAILS(-1, "the mode must be");
    repo = icecore_open(argv[1], "w", NULL);
    WORKS(repo ? 0 : -1);
    FAILS(icecore_write(repo, "/a", zero, box, data, sizeof data), "error[not-found]: there is no array /a");
    FAILS(icecore_array(repo, "/a", "float33", 2, shape, chunks, NULL, NULL), "error[");
    FAILS(icecore_array(repo, "/a", "f8", 2, shape, none, NULL, NULL), "chunks[0] is 0");
    FAILS(icecore_array(repo, "/a", "f8", 33, shape, chunks, NULL, NULL), "0 to 32 axes");
    FAILS(icecore_array(repo, "/a", "f8", 2, shape, chunks, "t", NULL), "1 names of dimensions for 2 axes");
    FAILS(icecore_array(repo, "/a", "f8", 2, shape, chunks, NULL, "zstd"), "error[codec]");
    FAILS(icecore_array(repo, "/a", "f8", 2, NULL, chunks, NULL, NULL), "shape is NULL");
    FAILS(icecore_array(repo, "/a", "f8", 2, less, chunks, NULL, NULL), "negative");
    FAILS(icecore_array(repo, "/a", "string", 2, shape, chunks, NULL, NULL), "error[");
    FAILS(icecore_array(repo, "/a", "\xff", 2, shape, chunks, NULL, NULL), "dtype is not valid UTF-8");
    FAILS(icecore_attributes(repo, "/g", "[1]"), "not a JSON object");
    WORKS(icecore_array(repo, "/a", "f8", 2, shape, chunks, NULL, NULL));
    FAILS(icecore_array(repo, "/a", "f4", 2, shape, chunks, NULL, NULL), "error[mismatch]");
    FAILS(icecore_array(repo, "/a", "f8", 2, other, chunks, NULL, NULL), "[0, 7] is declared");
    FAILS(icecore_array(repo, "/a", "f8", 2, shape, box, NULL, NULL), "error[mismatch]: /a has chunks");
    FAILS(icecore_write(repo, "/a", zero, box, small, sizeof small), "error[mismatch]");
    FAILS(icecore_write(repo, "/a", behind, half, data, sizeof data / 2), "error[mismatch]");
    WORKS(icecore_write(repo, "/a", zero, box, data, sizeof data));
    memset(data, 0, sizeof data); /* it was copied */
    FAILS(icecore_read(repo, "/a", behind, box, found, sizeof found), "error[selection]");
    FAILS(icecore_read(repo, "/a", zero, box, found, sizeof found - 1), "error[mismatch]");
    WORKS(icecore_read(repo, "/a", zero, box, found, sizeof found));
    for (int i = 0; i < 12; i++) if (found[i] != i + 1) return 2;
    WORKS(icecore_commit(repo, "a"));

    icecore *reader = icecore_open(argv[1], "r", "main"), *second = icecore_open(argv[1], "w", NULL);
    WORKS(reader && second ? 0 : -1);
    FAILS(icecore_write(reader, "/a", zero, box, data, sizeof data), "error[read-only]");
    int rank;
    int64_t lengths[ICECORE_MAX_RANK];
    WORKS(icecore_shape(reader, "/a", &rank, lengths));
    if (rank != 2 || lengths[0] != 2 || lengths[1] != 6) return 3;

    /* a chunk of two ranks, and other codecs */
    void *message;
    size_t bytes;
    WORKS(icecore_write(repo, "/a", right, one, data, sizeof data / 2));
    WORKS(icecore_write(second, "/a", zero, box, data, sizeof data));
    WORKS(icecore_take(second, &message, &bytes));
    FAILS(icecore_merge(repo, message, bytes), "/a: chunk 1 was written by two processes");
    FAILS(icecore_merge(repo, message, bytes - 1), "damaged");
    icecore_free(message, bytes);
    WORKS(icecore_array(repo, "/b", "f8", 2, shape, chunks, NULL, NULL));
    const char *plain = "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]";
    WORKS(icecore_array(second, "/b", "f8", 2, shape, chunks, NULL, plain));
    WORKS(icecore_write(second, "/b", zero, box, found, sizeof found));
    WORKS(icecore_take(second, &message, &bytes));
    FAILS(icecore_merge(repo, message, bytes), "error[mismatch]: /b was declared with other codecs");
    icecore_free(message, bytes);
    WORKS(icecore_commit(repo, "half of it"));
    icecore_close(reader);
    icecore_close(second);
    icecore_close(repo);
    icecore_close(NULL);
    return 0;
}
