/* What middleboxes do to headers: window scale changed or removed, congestion marked, checksums repaired. IPv4 only. */
#include "link.h"

static uint32_t add(const unsigned char *bytes, int length, uint32_t sum)
{
    for (; length > 1; length -= 2, bytes += 2)
        sum += bytes[0] << 8 | bytes[1];
    return length ? sum + (bytes[0] << 8) : sum;
}

uint16_t checksum(const unsigned char *bytes, int length, uint32_t sum)
{
    sum = add(bytes, length, sum);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}

/* Of `length` bytes of TCP behind the IPv4 header at `ip`; its own field has to be zero. */
uint16_t tcp_checksum(const unsigned char *ip, int header, int length)
{
    return checksum(ip + header, length, add(ip + 12, 8, 6 + length));
}

static int ipv4_tcp(const unsigned char *bytes, int length)
{
    return length >= 54 && bytes[12] == 8 && bytes[13] == 0 && bytes[23] == 6;
}

static void put(unsigned char *at, uint16_t value) { at[0] = value >> 8, at[1] = value; }

void rewrite_scale(unsigned char *bytes, int length, int change)
{
    if (!ipv4_tcp(bytes, length))
        return;
    unsigned char *ip = bytes + 14;
    int header = (ip[0] & 15) * 4, size = (ip[2] << 8 | ip[3]) - header;
    unsigned char *tcp = ip + header;
    if (!(tcp[13] & 2) || 14 + header + size > length)
        return;
    unsigned char *end = tcp + (tcp[12] >> 4) * 4;
    for (unsigned char *option = tcp + 20; option + 1 < end && *option;) {
        if (*option == 1) {
            option++;
            continue;
        }
        if (option[1] < 2)
            return;
        if (*option == 3 && change == SCALE_STRIP) {
            option[0] = option[1] = option[2] = 1;
            break;
        }
        if (*option == 3) {
            int scale = option[2] + change;
            option[2] = scale < 0 ? 0 : scale > 14 ? 14 : scale;
            break;
        }
        option += option[1];
    }
    put(tcp + 16, 0);
    put(tcp + 16, tcp_checksum(ip, header, size));
}

/* Set Congestion Experienced where the transport allows it (RFC 3168). */
int mark(unsigned char *bytes, int length)
{
    if (!ipv4_tcp(bytes, length) || !(bytes[15] & 3))
        return 0;
    bytes[15] |= 3;
    put(bytes + 24, 0);
    put(bytes + 24, checksum(bytes + 14, (bytes[14] & 15) * 4, 0));
    return 1;
}

/* An acknowledgment that a later one may replace: no payload, no flag but ACK, no SACK. */
int pure_ack(const unsigned char *bytes, int length)
{
    if (!ipv4_tcp(bytes, length))
        return 0;
    const unsigned char *ip = bytes + 14;
    int header = (ip[0] & 15) * 4, options = (ip[header + 12] >> 4) * 4;
    return (ip[2] << 8 | ip[3]) == header + options && ip[header + 13] == 0x10 && options <= 32;
}
