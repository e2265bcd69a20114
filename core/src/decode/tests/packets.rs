//! Generators of packets and tunnels for tests, written by etherparse.

use std::net::Ipv6Addr;

use etherparse::{
    IpAuthHeader, IpFragOffset, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv4Options,
    Ipv6Extensions, Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, Ipv6RoutingExtensions,
    LaxSlicedPacket, PacketBuilder, TcpHeader, TcpOptionElement, TransportSlice, VlanId,
};
use proptest::prelude::*;

use crate::budget::Budget;
use crate::decode::{self, Endpoint, Flags, Layer, Marks, Options, Path, Segment, Undecoded};

/// A packet as etherparse writes it, and the segment that decoding must return.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) bytes: Vec<u8>,
    /// Offset of the TCP header.
    pub(crate) tcp_offset: usize,
    pub(crate) segment: Segment,
    /// VLAN tags around the IP packet.
    pub(crate) path: Path,
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

/// Returns the marks of a SYN with these options and so much payload; of other segments it returns none.
fn marks(ip: &IpHeaders, tcp: &TcpHeader, elements: &[TcpOptionElement], payload: usize) -> Marks {
    if !tcp.syn {
        return Marks::default();
    }
    let of = |element: &TcpOptionElement| match element {
        TcpOptionElement::Noop => ('N', 1),
        TcpOptionElement::MaximumSegmentSize(_) => ('M', 4),
        TcpOptionElement::WindowScale(_) => ('W', 3),
        TcpOptionElement::SelectiveAcknowledgementPermitted => ('S', 2),
        TcpOptionElement::SelectiveAcknowledgement(_, more) => {
            ('K', 10 + 8 * more.iter().flatten().count())
        }
        TcpOptionElement::Timestamp(..) => ('T', 10),
    };
    let (mut letters, lengths): (String, Vec<usize>) = elements.iter().map(of).unzip();
    let rest = tcp.header_len() - TcpHeader::MIN_LEN - lengths.iter().sum::<usize>();
    if rest > 0 {
        letters.push('E');
    }
    let code = |letter: char| {
        let place = |code: &&str| code.starts_with(letter);
        Marks::CODES
            .iter()
            .position(place)
            .expect("a letter of a code") as u64
    };
    let codes = letters
        .chars()
        .rev()
        .fold(0, |word, letter| word << 4 | code(letter));
    let bit = |mask, holds: bool| if holds { mask } else { 0 };
    let of_ip = match ip {
        IpHeaders::Ipv4(header, _) => {
            Marks::IPV4
                | bit(Marks::DONT_FRAGMENT, header.dont_fragment)
                | bit(Marks::IDENTIFICATION_ZERO, header.identification == 0)
        }
        IpHeaders::Ipv6(..) => 0,
    };
    let padding = rest.saturating_sub(1) as u64;
    Marks(codes | padding << Marks::PADDING | bit(Marks::PAYLOAD, payload > 0) | of_ip)
}

/// Generates a packet with an Ethernet header, up to two VLAN tags, IP and TCP.
pub(crate) fn ethernet_packet() -> impl Strategy<Value = Packet> {
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
                header_bytes: tcp.header_len() as u8,
                payload_bytes: payload.len() as u32,
                options,
                ttl,
                identification,
                ecn,
                checksum: written_checksum(&bytes),
                marks: marks(&ip, &tcp, &elements, payload.len()),
            };
            Packet {
                bytes,
                tcp_offset,
                segment,
                path,
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

/// Generates a packet that begins with IP. It removes the Ethernet header and the tags, which are four bytes each.
pub(crate) fn ip_packet() -> impl Strategy<Value = Packet> {
    ethernet_packet().prop_map(|mut packet| {
        let link_len = 14 + 4 * packet.path.layers().count();
        packet.bytes.drain(..link_len);
        packet.tcp_offset -= link_len;
        packet.path = Path::default();
        packet
    })
}

/// Generates a tunnel: its layer in the path, `None` for IP in IP, and whether the outer packet is IPv4.
pub(crate) fn tunnel() -> impl Strategy<Value = (Option<Layer>, bool)> {
    let layer = prop_oneof![
        Just(None),
        prop::option::of(any::<u32>()).prop_map(|key| Some(Layer::Gre(key))),
        (0..1_u32 << 24).prop_map(|network| Some(Layer::Vxlan(network))),
        (0..1_u32 << 24).prop_map(|network| Some(Layer::Geneve(network))),
        any::<u32>().prop_map(|endpoint| Some(Layer::Gtp(endpoint))),
        any::<(u16, u16)>().prop_map(|(tunnel, session)| Some(Layer::L2tp(tunnel, session))),
        Just(Some(Layer::Capwap)),
    ];
    (layer, any::<bool>())
}

/// Returns the IP packet `inner` in a tunnel between 192.0.2.1 and 192.0.2.2, or between 2001:db8::1 and 2001:db8::2.
pub(crate) fn encapsulate(inner: &[u8], layer: Option<Layer>, over_ipv4: bool) -> Vec<u8> {
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
        Some(Layer::Gtp(endpoint)) => {
            let udp_and_start = [0xc0, 0, 0x08, 0x68, 0, 0, 0, 0, 0x30, 255, 0, 0];
            (
                IpNumber::UDP,
                [&udp_and_start[..], &endpoint.to_be_bytes()].concat(),
            )
        }
        Some(Layer::L2tp(tunnel, session)) => {
            let udp_and_flags = [0x06, 0xa5, 0xc0, 0, 0, 0, 0, 0, 0, 0x02];
            let ppp = if inner_is_ipv4 { 0x21 } else { 0x57 };
            (
                IpNumber::UDP,
                [
                    &udp_and_flags[..],
                    &tunnel.to_be_bytes(),
                    &session.to_be_bytes(),
                    &[0xff, 0x03, 0, ppp],
                ]
                .concat(),
            )
        }
        Some(Layer::Capwap) => {
            let udp_and_start = [
                0xc0, 0, 0x14, 0x7f, 0, 0, 0, 0, 0, 0x10, 0x02, 0, 0, 0, 0, 0,
            ];
            (
                IpNumber::UDP,
                [&udp_and_start[..], &[0; 12], &ether_type].concat(),
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

pub(crate) fn ipv6_node(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number)
}

/// Maximum number of headers in a frame.
pub(crate) const HEADERS: usize = Budget::DEFAULT.headers;

/// Decodes a frame; returns its TCP segment and the headers around it.
pub(crate) fn segment(
    link_type: u32,
    data: &[u8],
    wire_len: u32,
) -> Result<(Segment, Path), Undecoded> {
    let mut path = Path::default();
    match decode::decode(link_type, data, wire_len, HEADERS, &mut path)? {
        decode::Packet::Tcp(tcp) => Ok((tcp.segment(), path)),
        decode::Packet::Datagram(_) => Err(Undecoded::Udp),
        decode::Packet::Quoted(quoted) => Err(quoted.counted),
    }
}
