/* The floor under any reader built on libpcap: every packet is handed over, nothing is done with it. */
#include <pcap/pcap.h>
#include <stdio.h>

static void count(u_char *packets, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)header;
    (void)bytes;
    ++*(unsigned long *)packets;
}

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE];
    unsigned long packets = 0;
    pcap_t *capture = argc == 2 ? pcap_open_offline(argv[1], error) : NULL;

    if (!capture || pcap_loop(capture, 0, count, (u_char *)&packets))
        return 1;
    printf("%lu\n", packets);
    return 0;
}
