//! Tests with whole frames: packets written by etherparse, for every link type and in every tunnel.

pub(crate) mod packets;

use std::net::{IpAddr, Ipv4Addr};

use etherparse::PacketBuilder;
use proptest::prelude::*;

use super::*;
use packets::{
    HEADERS, encapsulate, ethernet_packet, ip_packet, ipv6_node, segment as decode, tunnel,
};

const ETHERNET: u32 = 1;
const RAW: u32 = 101;

fn payload_bytes(packet: &Packet<'_>) -> u32 {
    match packet {
        Packet::Tcp(tcp) => tcp.segment().payload_bytes,
        Packet::Datagram(datagram) => datagram.payload_bytes,
        Packet::Quoted(quoted) => quoted.tcp.segment().payload_bytes,
    }
}

/// Returns a SYN from 10.0.0.1 port 1000 to 10.0.0.2 port 80, an IPv4 packet of 40 bytes.
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
    fn a_segment_is_read_as_it_was_written(packet in ethernet_packet()) {
        let wire_len = packet.bytes.len() as u32;
        prop_assert_eq!(decode(ETHERNET, &packet.bytes, wire_len), Ok((packet.segment, packet.path)));
    }

    #[test]
    fn padding_is_not_payload(packet in ethernet_packet(), padding in 1..60_usize) {
        let frame = [&packet.bytes[..], &vec![0; padding]].concat();
        prop_assert_eq!(decode(ETHERNET, &frame, frame.len() as u32), Ok((packet.segment, packet.path)));
    }

    #[test]
    fn with_an_ip_length_of_0_the_wire_length_holds(packet in ip_packet(), more in 0..200_000_u32) {
        let mut bytes = packet.bytes;
        let length_at = if bytes[0] >> 4 == 4 { 2 } else { 4 };
        bytes[length_at..length_at + 2].fill(0);
        let mut expected = Segment { payload_bytes: packet.segment.payload_bytes + more, ..packet.segment };
        if more > 0 && expected.flags.has(Flags::SYN) {
            expected.marks.0 |= Marks::PAYLOAD;
        }
        prop_assert_eq!(decode(RAW, &bytes, bytes.len() as u32 + more), Ok((expected, packet.path)));
    }

    #[test]
    fn a_cut_frame_is_decoded_if_its_fixed_tcp_header_is_kept(
        packet in ethernet_packet(), kept in any::<prop::sample::Index>()
    ) {
        let kept = kept.index(packet.bytes.len());
        let decoded = decode(ETHERNET, &packet.bytes[..kept], packet.bytes.len() as u32);
        if kept < packet.tcp_offset + 20 {
            prop_assert_eq!(decoded, Err(Undecoded::Cut));
        } else {
            let (segment, _) = decoded.expect("the fixed header is there");
            prop_assert!(segment.options == packet.segment.options || segment.options.incomplete);
            let Segment { options, marks, .. } = packet.segment;
            prop_assert_eq!(Segment { options, marks, ..segment }, packet.segment);
        }
    }

    #[test]
    fn the_innermost_segment_is_read_and_the_path_lists_the_tunnels(
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
        prop_assert_eq!(decode(RAW, &bytes, wire_len), Ok((packet.segment, path)));
    }

    #[test]
    fn hostile_bytes_neither_panic_nor_exceed_the_wire_length(
        link_type in prop::sample::select(LINK_TYPES),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        wire_len: u32,
    ) {
        if let Ok(packet) = super::decode(link_type, &bytes, wire_len, HEADERS, &mut Path::default()) {
            prop_assert!(payload_bytes(&packet) <= wire_len.max(0xffff));
        }
    }

    #[test]
    fn damaged_packets_neither_panic_nor_exceed_the_ip_length(
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
        if let Ok(packet) = super::decode(RAW, &bytes, wire_len, HEADERS, &mut Path::default()) {
            prop_assert!(payload_bytes(&packet) <= 0xffff);
        }
    }
}

#[test]
fn every_link_type_leads_to_the_same_segment() {
    let mac = [&[0x08, 0x01][..], &[0; 22]].concat();
    let qos_mac = [&[0x88, 0x01][..], &[0; 24]].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00];
    let wifi = [&mac[..], &snap].concat();
    let links: [(u32, Vec<u8>); 30] = [
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
        (204, vec![1, 0xff, 0x03, 0x00, 0x21]),
        (50, vec![0xff, 0x03, 0x21]),
        (50, vec![0x0f, 0x00, 0x08, 0x00]),
        (51, vec![0x11, 0, 0, 9, 0, 42, 0x00, 0x21]),
        (104, vec![0x8f, 0x00, 0x08, 0x00]),
        (105, wifi.clone()),
        (127, [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wifi].concat()),
        // A QoS header of 26 bytes that is padded to 28.
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
        (10, [&[0x50][..], &[0; 12], &snap].concat()),
        (7, vec![1, 2, 240]),
        (7, vec![1, 2, 212, 0, 0, 9]),
        (129, vec![1, 2, 0, 0, 212, 0, 0, 9]),
        (242, [&[0; 40][..], &[0x08, 0x00, 0, 0]].concat()),
        (197, [&[0; 8][..], &[22], &[0; 7]].concat()),
        (239, vec![2, 0, 0, 0, 8, 0, 10, 0, 1, 0, 0, 0, 44, 0, 9, 0]),
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
        let decoded =
            decode(*link_type, &frame, frame.len() as u32).map(|(segment, _)| ports(segment));
        assert_eq!(
            decoded,
            Ok((1000, 80, 0)),
            "link type {link_type} with header {header:02x?}"
        );
    }
    // Link type 229 is left out, since it only holds IPv6.
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
    let (_, path) = decode(ETHERNET, &frame, frame.len() as u32).expect("a segment");
    let expected = [
        Layer::Vlan(10),
        Layer::Vlan(20),
        Layer::Pppoe(9),
        Layer::Mpls(16),
        Layer::Mpls(32),
    ];
    assert!(path.layers().eq(&expected));
}

#[test]
fn a_segment_quoted_by_an_icmp_error_is_no_tcp_segment() {
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
fn a_packet_too_big_names_the_router_and_its_mtu() {
    let mut over_ipv4 = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 9], [10, 0, 0, 1], 64)
        .icmpv4_raw(
            3,
            4,
            [0, 0, 1400_u16.to_be_bytes()[0], 1400_u16.to_be_bytes()[1]],
        )
        .write(&mut over_ipv4, &syn())
        .expect("a vector takes all");
    let mut quoted = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .tcp(1000, 80, 7, 1024)
        .write(&mut quoted, &[])
        .expect("a vector takes all");
    let mut over_ipv6 = Vec::new();
    PacketBuilder::ipv6([9; 16], [1; 16], 64)
        .icmpv6_raw(2, 0, 1280_u32.to_be_bytes())
        .write(&mut over_ipv6, &quoted)
        .expect("a vector takes all");
    for (frame, reporter, mtu) in [
        (over_ipv4, IpAddr::from([10, 0, 0, 9]), 1400),
        (over_ipv6, IpAddr::from([9; 16]), 1280),
    ] {
        let length = frame.len() as u32;
        let packet = super::decode(RAW, &frame, length, HEADERS, &mut Path::default());
        let Ok(Packet::Quoted(quoted)) = packet else {
            panic!("no error message: {packet:?}");
        };
        assert_eq!(
            (quoted.reporter(), quoted.refusal(), quoted.mtu()),
            (reporter, Refusal::TooBig, mtu)
        );
        assert_eq!(quoted.tcp.ends()[1].port, 80);
    }
}

#[test]
fn too_many_headers_are_refused() {
    let frame = [&[0; 12][..], &[0x81, 0x00, 0, 1].repeat(400)].concat();
    assert_eq!(
        decode(ETHERNET, &frame, frame.len() as u32),
        Err(Undecoded::Depth)
    );
}

#[test]
fn other_protocols_have_their_reasons() {
    let with_protocol = |protocol: u8| {
        let mut packet = syn();
        packet[9] = protocol;
        decode(RAW, &packet, 40)
    };
    assert_eq!(with_protocol(50), Err(Undecoded::Esp));
    assert_eq!(with_protocol(58), Err(Undecoded::Icmpv6));
    assert_eq!(with_protocol(132), Err(Undecoded::IpProtocol));
    assert_eq!(decode(147, &syn(), 40), Err(Undecoded::LinkType));
}

#[test]
fn a_datagram_is_decoded_without_padding() {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv6([1; 16], [2; 16], 64)
        .udp(1000, 5001)
        .write(&mut bytes, &[7; 20])
        .expect("a vector takes all");
    bytes.extend([0; 9]);
    let Ok(Packet::Datagram(datagram)) = super::decode(
        ETHERNET,
        &bytes,
        bytes.len() as u32,
        HEADERS,
        &mut Path::default(),
    ) else {
        panic!("no datagram");
    };
    assert_eq!(
        (datagram.source.port, datagram.destination.port),
        (1000, 5001)
    );
    assert_eq!((datagram.payload_bytes, datagram.head), (20, Some([7; 16])));
}
