/* The outside witness for the pointer chase of crates/sys: the same quantity, found another way.
 *
 * It shares no code and no construction with the tool: a plain shuffle after Sattolo ("An algorithm to generate a
 * random cyclic permutation", 1986), another random number generator, CLOCK_MONOTONIC, and the C compiler's loop.
 *
 *     cc -std=c11 -O2 -o pointer_chase pointer_chase.c
 *     pointer_chase BYTES [huge]
 *
 * The first line printed is the mean time of one dependent load in nanoseconds, the second says what was done.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, REPEATS = 5 };
static const size_t HUGE_PAGE = (size_t)2 << 20;

struct node {
    struct node *next;
    char rest[LINE - sizeof(void *)];
};

/* Xorshift64 by Marsaglia, "Xorshift RNGs", 2003; a fixed seed, so that every run walks the same order. */
static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static struct node *map_nodes(size_t bytes, int huge) {
    char *mapping = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    char *start = mapping + (HUGE_PAGE - (uintptr_t)mapping % HUGE_PAGE) % HUGE_PAGE;
    if (madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0) {
        perror("madvise");
    }
    return (struct node *)start;
}

/* Sattolo: exchanging each element with an earlier one, never with itself, leaves one cycle through all. */
static void link_nodes(struct node *nodes, size_t count) {
    size_t *successor = malloc(count * sizeof *successor);
    if (successor == NULL) {
        perror("malloc");
        exit(1);
    }
    for (size_t i = 0; i < count; i++) successor[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = next_random() % i, held = successor[i];
        successor[i] = successor[j];
        successor[j] = held;
    }
    for (size_t i = 0; i < count; i++) nodes[i].next = &nodes[successor[i]];
    free(successor);
}

static struct node *walk(struct node *node, size_t loads) {
    for (size_t i = 0; i < loads; i += 8) {
        node = node->next->next->next->next->next->next->next->next;
    }
    return node;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) / LINE * LINE : 0;
    int huge = argc > 2 && strcmp(argv[2], "huge") == 0;
    if (bytes < 2 * LINE || (argc > 2 && !huge)) {
        fprintf(stderr, "usage: pointer_chase BYTES [huge]   (at least 128 bytes)\n");
        return 2;
    }
    size_t count = bytes / LINE, loads = count < 65536 ? 65536 : count > 2097152 ? 2097152 : (count + 7) / 8 * 8;
    struct node *nodes = map_nodes(bytes, huge);
    link_nodes(nodes, count);
    struct node *node = walk(nodes, loads);
    double samples[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        double start = now_ns();
        node = walk(node, loads);
        /* The barrier keeps the compiler from moving the walk behind the second clock read. */
        __asm__ volatile("" : : "r"(node) : "memory");
        samples[i] = (now_ns() - start) / (double)loads;
    }
    qsort(samples, REPEATS, sizeof *samples, by_value);
    printf("%.3f\n", samples[REPEATS / 2]);
    printf("median of %d walks of %zu dependent loads through %zu lines of %d bytes, %s pages asked for; ended at line "
           "%zu\n",
           REPEATS, loads, count, LINE, huge ? "huge" : "small", (size_t)(node - nodes));
    return 0;
}
