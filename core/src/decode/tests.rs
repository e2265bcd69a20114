//! Whole frames: packets that etherparse wrote, behind every link type and in every tunnel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{
    IpAuthHeader, IpFragOffset, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv4Options,
    Ipv6Extensions, Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, Ipv6RoutingExtensions,
    LaxSlicedPacket, PacketBuilder, TcpHeader, TcpOptionElement, TransportSlice, VlanId,
};
use proptest::prelude::*;

use super::*;

const ETHERNET: u32 = 1;
const RAW: u32 = 101;

/// A packet as etherparse writes it, and the segment that must be read from it.
#[derive(Debug, Clone)]
struct Packet {
    bytes: Vec<u8>,
    /// Where its TCP header starts.
    tcp_offset: usize,
    segment: Segment,
}

fn options() -> impl Strategy<Value = (Options, Vec<TcpOptionElement>)> {
    let open = (any::<u16>(), any::<u8>(), any::<bool>());
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=3);
    (
        prop::option::of(open),
        prop::option::of(any::<(u32, u32)>()),
        blocks,
    )
        .prop_map(|(open, timestamps, mut blocks)| {
            let mut options = Options {
                timestamps,
                ..Options::default()
            };
            let mut elements = Vec::new();
            if let Some((tsval, tsecr)) = timestamps {
                elements.push(TcpOptionElement::Timestamp(tsval, tsecr));
            }
            if let Some((mss, scale, sack_permitted)) = open {
                blocks.truncate(1); // The option space is 40 bytes.
                options.mss = Some(mss);
                options.window_scale = Some(scale);
                options.sack_permitted = sack_permitted;
                elements.push(TcpOptionElement::MaximumSegmentSize(mss));
                elements.push(TcpOptionElement::WindowScale(scale));
                if sack_permitted {
                    elements.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
                }
            }
            if let [first, more @ ..] = &blocks[..] {
                options.sack_blocks = blocks.len() as u8;
                options.sack[..blocks.len()].copy_from_slice(&blocks);
                let more = [0, 1, 2].map(|index| more.get(index).copied());
                elements.push(TcpOptionElement::SelectiveAcknowledgement(*first, more));
            }
            (options, elements)
        })
}

fn authentication() -> impl Strategy<Value = Option<IpAuthHeader>> {
    prop::option::of((0..4_usize).prop_map(|words| {
        IpAuthHeader::new(IpNumber::TCP, 1, 2, &vec![0; words * 4]).expect("whole words")
    }))
}

fn ipv4() -> impl Strategy<Value = IpHeaders> {
    (
        any::<[u8; 4]>(),
        any::<[u8; 4]>(),
        any::<u8>(),
        any::<u16>(),
        0..4_u8,
        0..=10_usize,
        authentication(),
    )
        .prop_map(
            |(source, destination, ttl, identification, ecn, option_words, auth)| {
                let mut header =
                    Ipv4Header::new(0, ttl, IpNumber::TCP, source, destination).expect("short");
                header.identification = identification;
                header.ecn = ecn.try_into().expect("two bits");
                header.options =
                    Ipv4Options::try_from(&vec![1; option_words * 4][..]).expect("whole words");
                IpHeaders::Ipv4(header, Ipv4Extensions { auth })
            },
        )
}

fn ipv6() -> impl Strategy<Value = IpHeaders> {
    let extension = || {
        prop::option::of((0..3_usize).prop_map(|units| {
            Ipv6RawExtHeader::new_raw(IpNumber::TCP, &vec![0; 6 + 8 * units]).expect("whole units")
        }))
    };
    let extensions = (
        extension(),
        extension(),
        extension(),
        any::<bool>(),
        authentication(),
    );
    (
        any::<[u8; 16]>(),
        any::<[u8; 16]>(),
        any::<u8>(),
        any::<u8>(),
        extensions,
    )
        .prop_map(
            |(source, destination, hop_limit, traffic_class, extensions)| {
                let (hop_by_hop_options, destination_options, routing, atomic, auth) = extensions;
                let header = Ipv6Header {
                    source,
                    destination,
                    hop_limit,
                    traffic_class,
                    ..Ipv6Header::default()
                };
                let fragment = atomic
                    .then(|| Ipv6FragmentHeader::new(IpNumber::TCP, IpFragOffset::ZERO, false, 9));
                let routing = routing.map(|routing| Ipv6RoutingExtensions {
                    routing,
                    final_destination_options: None,
                });
                let extensions = Ipv6Extensions {
                    hop_by_hop_options,
                    destination_options,
                    routing,
                    fragment,
                    auth,
                };
                IpHeaders::Ipv6(header, extensions)
            },
        )
}

fn tcp_header() -> impl Strategy<Value = TcpHeader> {
    (any::<[u16; 3]>(), any::<[u32; 2]>(), any::<[bool; 8]>()).prop_map(|(short, long, flags)| {
        let mut header = TcpHeader::new(short[0], short[1], long[0], short[2]);
        header.acknowledgment_number = long[1];
        [
            header.fin, header.syn, header.rst, header.psh, header.ack, header.urg, header.ece,
            header.cwr,
        ] = flags;
        header
    })
}

/// A packet that starts with an Ethernet header, up to two tags, and IP.
fn ethernet_packet() -> impl Strategy<Value = Packet> {
    let vlans = prop::collection::vec(0..4096_u16, 0..=2);
    let payload = prop::collection::vec(any::<u8>(), 0..100);
    (
        vlans,
        prop_oneof![ipv4(), ipv6()],
        tcp_header(),
        options(),
        payload,
    )
        .prop_map(|(vlans, ip, mut tcp, (options, elements), payload)| {
            tcp.set_options(&elements).expect("at most 40 bytes");
            let vlan = |index: usize| VlanId::try_new(vlans[index]).expect("12 bits");
            let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
            let built = match vlans.len() {
                0 => link.ip(ip.clone()),
                1 => link.single_vlan(vlan(0)).ip(ip.clone()),
                _ => link.double_vlan(vlan(0), vlan(1)).ip(ip.clone()),
            };
            let mut bytes = Vec::new();
            built
                .tcp_header(tcp.clone())
                .write(&mut bytes, &payload)
                .expect("a vector takes all");
            let tcp_offset = bytes.len() - payload.len() - tcp.header_len();

            let (source, destination, ttl, identification, ecn) = match &ip {
                IpHeaders::Ipv4(h, _) => {
                    let (source, destination) = (h.source.into(), h.destination.into());
                    (
                        source,
                        destination,
                        h.time_to_live,
                        Some(h.identification),
                        h.ecn.value(),
                    )
                }
                IpHeaders::Ipv6(h, _) => {
                    let (source, destination) = (h.source.into(), h.destination.into());
                    (source, destination, h.hop_limit, None, h.traffic_class & 3)
                }
            };
            let mut path = Path::default();
            vlans.iter().for_each(|vlan| path.push(Layer::Vlan(*vlan)));
            let flags = [
                tcp.fin, tcp.syn, tcp.rst, tcp.psh, tcp.ack, tcp.urg, tcp.ece, tcp.cwr,
            ];
            let segment = Segment {
                source: Endpoint {
                    address: source,
                    port: tcp.source_port,
                },
                destination: Endpoint {
                    address: destination,
                    port: tcp.destination_port,
                },
                sequence: tcp.sequence_number,
                acknowledgment: tcp.acknowledgment_number,
                flags: Flags(
                    flags
                        .iter()
                        .rev()
                        .fold(0, |bits, flag| bits << 1 | u8::from(*flag)),
                ),
                window: tcp.window_size,
                payload_bytes: payload.len() as u32,
                options,
                ttl,
                identification,
                ecn,
                checksum: written_checksum(&bytes),
                path,
            };
            Packet {
                bytes,
                tcp_offset,
                segment,
            }
        })
}

fn written_checksum(frame: &[u8]) -> u16 {
    match LaxSlicedPacket::from_ethernet(frame)
        .expect("an Ethernet header")
        .transport
    {
        Some(TransportSlice::Tcp(tcp)) => tcp.checksum(),
        other => panic!("etherparse reads {other:?} back"),
    }
}

/// The same without the Ethernet header and tags, which are four bytes each.
fn ip_packet() -> impl Strategy<Value = Packet> {
    ethernet_packet().prop_map(|mut packet| {
        let link_len = 14 + 4 * packet.segment.path.layers().count();
        packet.bytes.drain(..link_len);
        packet.tcp_offset -= link_len;
        packet.segment.path = Path::default();
        packet
    })
}

/// A tunnel as its path names it, and whether IPv4 carries it.
fn tunnel() -> impl Strategy<Value = (Option<Layer>, bool)> {
    let layer = prop_oneof![
        Just(None),
        prop::option::of(any::<u32>()).prop_map(|key| Some(Layer::Gre(key))),
        (0..1_u32 << 24).prop_map(|network| Some(Layer::Vxlan(network))),
        (0..1_u32 << 24).prop_map(|network| Some(Layer::Geneve(network))),
    ];
    (layer, any::<bool>())
}

/// `inner`, an IP packet, in a tunnel between 192.0.2.1 and .2 or 2001:db8::1 and ::2.
fn encapsulate(inner: &[u8], layer: Option<Layer>, over_ipv4: bool) -> Vec<u8> {
    let inner_is_ipv4 = inner[0] >> 4 == 4;
    let ether_type: [u8; 2] = if inner_is_ipv4 {
        [0x08, 0x00]
    } else {
        [0x86, 0xdd]
    };
    let network = |identifier: u32| (identifier << 8).to_be_bytes();
    let (protocol, header) = match layer {
        None => (
            if inner_is_ipv4 {
                IpNumber::IPV4
            } else {
                IpNumber::IPV6
            },
            vec![],
        ),
        Some(Layer::Gre(None)) => (IpNumber::GRE, [&[0, 0], &ether_type[..]].concat()),
        Some(Layer::Gre(Some(key))) => (
            IpNumber::GRE,
            [&[0x20, 0], &ether_type[..], &key.to_be_bytes()].concat(),
        ),
        Some(Layer::Vxlan(identifier)) => {
            let udp_and_flags = [0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 0x08, 0, 0, 0];
            (
                IpNumber::UDP,
                [
                    &udp_and_flags[..],
                    &network(identifier),
                    &[0; 12],
                    &ether_type,
                ]
                .concat(),
            )
        }
        Some(Layer::Geneve(identifier)) => {
            let udp_and_flags = [0xc0, 0, 0x17, 0xc1, 0, 0, 0, 0, 0, 0];
            (
                IpNumber::UDP,
                [&udp_and_flags[..], &ether_type, &network(identifier)].concat(),
            )
        }
        Some(other) => panic!("{other:?} is no tunnel"),
    };
    let payload = [&header[..], inner].concat();
    let payload_len = payload.len() as u16;
    let mut packet = if over_ipv4 {
        let header = Ipv4Header::new(payload_len, 64, protocol, [192, 0, 2, 1], [192, 0, 2, 2]);
        header.expect("short").to_bytes().to_vec()
    } else {
        let (source, destination) = (ipv6_node(1).octets(), ipv6_node(2).octets());
        let fields = Ipv6Header {
            payload_length: payload_len,
            next_header: protocol,
            source,
            destination,
            ..Ipv6Header::default()
        };
        fields.to_bytes().to_vec()
    };
    packet.extend(payload);
    packet
}

fn ipv6_node(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number)
}

/// SYN from 10.0.0.1 port 1000 to 10.0.0.2 port 80, an IPv4 packet of 40 bytes.
fn syn() -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1000, 80, 7, 1024)
        .syn()
        .write(&mut bytes, &[])
        .expect("a vector takes all");
    bytes
}

proptest! {
    #[test]
    fn a_frame_gives_the_segment_that_was_written(packet in ethernet_packet()) {
        let wire_len = packet.bytes.len() as u32;
        prop_assert_eq!(decode(ETHERNET, &packet.bytes, wire_len), Ok(packet.segment));
    }

    #[test]
    fn padding_is_no_payload(packet in ethernet_packet(), padding in 1..60_usize) {
        let frame = [&packet.bytes[..], &vec![0; padding]].concat();
        prop_assert_eq!(decode(ETHERNET, &frame, frame.len() as u32), Ok(packet.segment));
    }

    #[test]
    fn where_offload_left_the_ip_length_0_the_wire_length_counts(packet in ip_packet(), more in 0..200_000_u32) {
        let mut bytes = packet.bytes;
        let length_at = if bytes[0] >> 4 == 4 { 2 } else { 4 };
        bytes[length_at..length_at + 2].fill(0);
        let expected = Segment { payload_bytes: packet.segment.payload_bytes + more, ..packet.segment };
        prop_assert_eq!(decode(RAW, &bytes, bytes.len() as u32 + more), Ok(expected));
    }

    #[test]
    fn a_cut_frame_gives_the_same_segment_while_its_fixed_tcp_header_is_kept(
        packet in ethernet_packet(), kept in any::<prop::sample::Index>()
    ) {
        let kept = kept.index(packet.bytes.len());
        let decoded = decode(ETHERNET, &packet.bytes[..kept], packet.bytes.len() as u32);
        if kept < packet.tcp_offset + 20 {
            prop_assert_eq!(decoded, Err(Undecoded::Cut));
        } else {
            let segment = decoded.expect("the fixed header is there");
            prop_assert!(segment.options == packet.segment.options || segment.options.incomplete);
            prop_assert_eq!(Segment { options: packet.segment.options, ..segment }, packet.segment);
        }
    }

    #[test]
    fn the_innermost_segment_is_read_and_the_path_names_the_tunnels_from_the_outside(
        packet in ip_packet(), tunnels in prop::collection::vec(tunnel(), 0..=3)
    ) {
        let mut bytes = packet.bytes;
        for (layer, over_ipv4) in tunnels.iter().rev() {
            bytes = encapsulate(&bytes, *layer, *over_ipv4);
        }
        let mut path = Path::default();
        for (layer, over_ipv4) in tunnels {
            let node = |number: u8| if over_ipv4 {
                IpAddr::from(Ipv4Addr::new(192, 0, 2, number))
            } else {
                ipv6_node(number.into()).into()
            };
            path.push(Layer::Ip(node(1), node(2)));
            if let Some(layer) = layer {
                path.push(layer);
            }
        }
        let wire_len = bytes.len() as u32;
        prop_assert_eq!(decode(RAW, &bytes, wire_len), Ok(Segment { path, ..packet.segment }));
    }

    #[test]
    fn hostile_bytes_never_panic_nor_invent_payload(
        link_type in prop::sample::select(LINK_TYPES), bytes in prop::collection::vec(any::<u8>(), 0..200), wire_len: u32
    ) {
        if let Ok(segment) = decode(link_type, &bytes, wire_len) {
            prop_assert!(segment.payload_bytes <= wire_len.max(0xffff));
        }
    }

    #[test]
    fn damaged_packets_never_panic_nor_invent_payload(
        packet in ip_packet(),
        tunnels in prop::collection::vec(tunnel(), 0..=3),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        wire_len in 0..2000_u32,
    ) {
        let mut bytes = packet.bytes;
        for (layer, over_ipv4) in tunnels {
            bytes = encapsulate(&bytes, layer, over_ipv4);
        }
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(segment) = decode(RAW, &bytes, wire_len) {
            prop_assert!(segment.payload_bytes <= 0xffff);
        }
    }
}

#[test]
fn every_link_type_leads_to_the_same_segment() {
    let mac = [&[0x08, 0x01][..], &[0; 22]].concat();
    let qos_mac = [&[0x88, 0x01][..], &[0; 24]].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00];
    let wifi = [&mac[..], &snap].concat();
    let links: [(u32, Vec<u8>); 22] = [
        (1, [&[0; 12][..], &[0x08, 0x00]].concat()),
        (1, [&[0; 12][..], &[0, 48], &snap].concat()),
        (
            113,
            [
                &[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..],
                &[0x08, 0x00],
            ]
            .concat(),
        ),
        (
            276,
            [
                &[0x08, 0x00][..],
                &[0; 6],
                &[0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0],
            ]
            .concat(),
        ),
        (0, vec![2, 0, 0, 0]),
        (0, vec![0, 0, 0, 2]),
        (108, vec![0, 0, 0, 2]),
        (101, vec![]),
        (12, vec![]),
        (14, vec![]),
        (228, vec![]),
        (9, vec![0x00, 0x21]),
        (9, vec![0xff, 0x03, 0x00, 0x21]),
        (50, vec![0xff, 0x03, 0x21]),
        (50, vec![0x0f, 0x00, 0x08, 0x00]),
        (51, vec![0x11, 0, 0, 9, 0, 42, 0x00, 0x21]),
        (104, vec![0x8f, 0x00, 0x08, 0x00]),
        (105, wifi.clone()),
        (127, [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wifi].concat()),
        // A QoS header of 26 bytes, padded to 28.
        (
            127,
            [
                &[0, 0, 9, 0, 2, 0, 0, 0, 0x20][..],
                &qos_mac,
                &[0, 0],
                &snap,
            ]
            .concat(),
        ),
        (119, [&[0x44, 0, 0, 0, 8, 0, 0, 0][..], &wifi].concat()),
        (
            163,
            [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 8][..], &wifi].concat(),
        ),
    ];
    let ports = |segment: Segment| {
        (
            segment.source.port,
            segment.destination.port,
            segment.payload_bytes,
        )
    };
    for (link_type, header) in &links {
        let frame = [&header[..], &syn()].concat();
        let decoded = decode(*link_type, &frame, frame.len() as u32).map(ports);
        assert_eq!(
            decoded,
            Ok((1000, 80, 0)),
            "link type {link_type} with header {header:02x?}"
        );
    }
    // 229 is for IPv6 alone.
    let tested =
        |link_type: &u32| *link_type == 229 || links.iter().any(|link| link.0 == *link_type);
    assert!(LINK_TYPES.iter().all(tested));
}

#[test]
fn tags_labels_and_sessions_are_kept_in_the_path() {
    let header = [
        &[0; 12][..],
        &[0x88, 0xa8, 0x00, 0x0a, 0x81, 0x00, 0x00, 0x14, 0x88, 0x64],
        &[0x11, 0, 0, 9, 0, 48, 0x02, 0x81],
        &[0, 0x01, 0x00, 64, 0, 0x02, 0x01, 64],
        &[0, 0, 0, 0], // control word of a pseudowire
        &[0; 12],
        &[0x08, 0x00],
    ];
    let frame = [&header.concat()[..], &syn()].concat();
    let segment = decode(ETHERNET, &frame, frame.len() as u32).expect("a segment");
    let path = [
        Layer::Vlan(10),
        Layer::Vlan(20),
        Layer::Pppoe(9),
        Layer::Mpls(16),
        Layer::Mpls(32),
    ];
    assert!(segment.path.layers().eq(&path));
}

#[test]
fn a_segment_quoted_by_an_icmp_error_is_not_one_of_the_connection() {
    let mut frame = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 9], [10, 0, 0, 1], 64)
        .icmpv4_raw(3, 1, [0; 4])
        .write(&mut frame, &syn())
        .expect("a vector takes all");
    assert_eq!(
        decode(RAW, &frame, frame.len() as u32),
        Err(Undecoded::Icmp)
    );
}

#[test]
fn a_stack_without_end_is_given_up() {
    let frame = [&[0; 12][..], &[0x81, 0x00, 0, 1].repeat(400)].concat();
    assert_eq!(
        decode(ETHERNET, &frame, frame.len() as u32),
        Err(Undecoded::Depth)
    );
}

#[test]
fn other_protocols_are_counted_by_name() {
    let with_protocol = |protocol: u8| {
        let mut packet = syn();
        packet[9] = protocol;
        decode(RAW, &packet, 40)
    };
    assert_eq!(with_protocol(17), Err(Undecoded::Udp));
    assert_eq!(with_protocol(50), Err(Undecoded::Esp));
    assert_eq!(with_protocol(58), Err(Undecoded::Icmpv6));
    assert_eq!(with_protocol(132), Err(Undecoded::IpProtocol));
    assert_eq!(decode(147, &syn(), 40), Err(Undecoded::LinkType));
}
