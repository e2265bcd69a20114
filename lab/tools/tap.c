/* A capture as a tap somewhere along the path would take it: remembered, then written in order of time. */
#include "link.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 128

struct seen {
    uint64_t at;
    int length;
    unsigned char bytes[KEPT];
};

static struct seen *all;
static size_t count, room;

void tap(uint64_t wall, const unsigned char *bytes, int length)
{
    if (count == room) {
        room = room ? 2 * room : 1 << 16;
        all = realloc(all, room * sizeof *all);
        if (!all)
            abort();
    }
    struct seen *one = &all[count++];
    one->at = wall;
    one->length = length;
    memcpy(one->bytes, bytes, length < KEPT ? length : KEPT);
}

static int earlier(const void *a, const void *b)
{
    uint64_t x = ((const struct seen *)a)->at, y = ((const struct seen *)b)->at;
    return x < y ? -1 : x > y;
}

/* As pcap with nanoseconds, `snap` (at most 128) bytes of each frame. */
void tap_write(const char *path, int snap)
{
    FILE *file = fopen(path, "w");
    uint32_t header[6] = {0xa1b23c4d, 0x00040002, 0, 0, snap, 1};
    if (!file) {
        perror(path);
        exit(1);
    }
    fwrite(header, sizeof header, 1, file);
    qsort(all, count, sizeof *all, earlier);
    for (size_t i = 0; i < count; i++) {
        uint32_t kept = all[i].length < snap ? all[i].length : snap;
        uint32_t record[4] = {all[i].at / 1000000000ull, all[i].at % 1000000000ull, kept, all[i].length};
        fwrite(record, sizeof record, 1, file);
        fwrite(all[i].bytes, kept, 1, file);
    }
    fclose(file);
}
