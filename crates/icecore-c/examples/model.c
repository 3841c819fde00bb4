/* A model that commits each step: cc model.c -I../include -L../../../target/release -licecore_c -o model */
#include <icecore.h>
#include <stdio.h>
#include <stdlib.h>
enum { NY = 8, NX = 16 };

static void check(int ok) {
    if (ok) return;
    fprintf(stderr, "%s\n", icecore_error());
    exit(1);
}

int main(int argc, char **argv) {
    icecore *repo = icecore_open(argc > 1 ? argv[1] : "run.icecore", "w", NULL);
    check(repo != NULL);
    int64_t shape[] = {0, NY, NX}, step[] = {1, NY, NX};
    check(icecore_array(repo, "/run/t", "f4", 3, shape, step, "time,y,x", NULL) == 0);
    check(icecore_attributes(repo, "/run/t", "{\"units\": \"K\"}") == 0);
    float field[NY * NX], box[3 * 2];
    for (int64_t t = 0; t < 3; t++) {
        for (int i = 0; i < NY * NX; i++) field[i] = 280 + t + 0.1f * i;
        int64_t start[] = {t, 0, 0}; /* behind the end: the array grows */
        check(icecore_write(repo, "/run/t", start, step, field, sizeof field) == 0);
        check(icecore_commit(repo, "one step") == 0);
    }
    int64_t start[] = {0, 1, 0}, lengths[] = {3, 1, 2};
    check(icecore_read(repo, "/run/t", start, lengths, box, sizeof box) == 0);
    printf("%.1f %.1f\n", box[0], box[5]);
    icecore_close(repo);
}
