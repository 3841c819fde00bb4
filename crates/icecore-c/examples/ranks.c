/* Ranks of a model write their rows of one step; rank 0 commits. With MPI: MPI_Gatherv instead of the loop. */
#include <icecore.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 3, NY = 2, NX = 4 };

static void check(int status) {
    if (status != 0) {
        fprintf(stderr, "%s\n", icecore_error());
        exit(1);
    }
}

int main(int argc, char **argv) {
    icecore *rank[RANKS]; /* each in a process of its own */
    int64_t shape[] = {0, RANKS * NY, NX}, chunks[] = {1, NY, NX}, block[] = {1, NY, NX};
    for (int r = 0; r < RANKS; r++) {
        check((rank[r] = icecore_open(argc > 1 ? argv[1] : "ranks.icecore", "w", NULL)) ? 0 : -1);
        check(icecore_array(rank[r], "/u", "f8", 3, shape, chunks, "time,y,x", NULL));
    }
    for (int64_t t = 0; t < 2; t++) {
        for (int r = 0; r < RANKS; r++) {
            double u[NY * NX];
            for (int i = 0; i < NY * NX; i++) u[i] = 100 * t + 10 * r + i;
            int64_t start[] = {t, r * NY, 0};
            check(icecore_write(rank[r], "/u", start, block, u, sizeof u));
        }
        for (int r = 1; r < RANKS; r++) {
            void *message;
            size_t bytes;
            check(icecore_take(rank[r], &message, &bytes));
            check(icecore_merge(rank[0], message, bytes));
            icecore_free(message, bytes);
        }
        check(icecore_commit(rank[0], "one step of all ranks"));
    }
    for (int r = 0; r < RANKS; r++) icecore_close(rank[r]);
}
