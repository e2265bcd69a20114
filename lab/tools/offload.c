/* What a network interface does for its host: checksums finished, large frames cut into segments (IPv4). */
#include "link.h"
#include <string.h>

#define VIRTIO 10
#define SEGMENT_MAX 2048

static unsigned field(const unsigned char *at) { return at[0] | at[1] << 8; } /* little-endian, as virtio's */
static void put(unsigned char *at, uint16_t value) { at[0] = value >> 8, at[1] = value; }

/* `bytes` begin with a virtio header; its fields are those of struct virtio_net_hdr. */
void offload(struct direction *way, uint64_t now, unsigned char *bytes, int length)
{
    unsigned char *frame = bytes + VIRTIO;
    int needs_checksum = bytes[0] & 1, cut = bytes[1];
    int size = field(bytes + 4), start = field(bytes + 6), at = field(bytes + 8);
    length -= VIRTIO;
    if (!cut) {
        if (needs_checksum)
            put(frame + start + at, checksum(frame + start, length - start, 0));
        arrive(way, now, frame, length);
        return;
    }
    int header = (frame[14] & 15) * 4, options = (frame[14 + header + 12] >> 4) * 4;
    int front = 14 + header + options, payload = length - front;
    unsigned char *sequence = frame + 14 + header + 4;
    uint32_t first = (uint32_t)sequence[0] << 24 | sequence[1] << 16 | sequence[2] << 8 | sequence[3];
    uint16_t id = frame[18] << 8 | frame[19];
    for (int done = 0; done < payload; done += size) {
        unsigned char out[SEGMENT_MAX], *ip = out + 14, *tcp = ip + header;
        int part = payload - done < size ? payload - done : size;
        if (front + part > SEGMENT_MAX)
            return;
        memcpy(out, frame, front);
        memcpy(out + front, frame + front + done, part);
        put(ip + 2, header + options + part);
        put(ip + 4, id++);
        put(ip + 10, 0);
        put(ip + 10, checksum(ip, header, 0));
        put(tcp + 4, (first + done) >> 16);
        put(tcp + 6, first + done);
        if (done + part < payload)
            tcp[13] &= ~9; /* FIN and PSH belong to the last */
        if (done)
            tcp[13] &= ~0x80; /* CWR to the first */
        put(tcp + 16, 0);
        put(tcp + 16, tcp_checksum(ip, header, options + part));
        arrive(way, now, out, front + part);
    }
}
