//! # Segment
//! The fields of a TCP segment that later stages use: addresses, the TCP header and its options, but no payload.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use super::marks::Marks;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// IPv4 or IPv6 address, of the innermost IP header.
    pub address: IpAddr,
    /// TCP or UDP port.
    pub port: u16,
}

impl Endpoint {
    /// Returns an IPv4 address and the port as one number; `None` for IPv6.
    #[must_use]
    #[inline]
    pub fn v4(&self) -> Option<u64> {
        match self.address {
            IpAddr::V4(address) => Some(u64::from(address.to_bits()) << 16 | u64::from(self.port)),
            IpAddr::V6(_) => None,
        }
    }
}

/// Hashes whole words. A derived implementation would hash a tag, a length, octets and a port, once or twice per
/// packet.
impl Hash for Endpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(number) = self.v4() {
            state.write_u64(number);
        } else if let IpAddr::V6(address) = self.address {
            state.write_u128(address.to_bits());
            state.write_u16(self.port);
        }
    }
}

/// TCP flag bits, byte 13 of the header (RFC 9293 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgment number is valid.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer is valid.
    pub const URG: u8 = 0x20;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;

    /// Returns whether all bits of `mask` are set.
    #[must_use]
    pub const fn has(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// TCP options needed by later stages. Of a truncated or malformed list the readable options are present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// Maximum segment size (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale as sent, not clamped (RFC 7323 section 2.2). `Some(0)` is a value.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// `(TSval, TSecr)` (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, left and right edge (RFC 2018 section 3); the first `sack_blocks` entries count.
    pub sack: [(u32, u32); 4],
    /// Number of valid entries of `sack`.
    pub sack_blocks: u8,
    /// Whether there is a TCP Fast Open option, with a cookie or a cookie request (RFC 7413 section 4.1.1).
    pub fast_open: bool,
    /// Whether there is a multipath TCP option (RFC 8684).
    pub multipath: bool,
    /// Whether the list was cut by the snaplen or is malformed.
    pub incomplete: bool,
}

impl Options {
    /// Returns whether there are no options, or none but timestamps.
    #[must_use]
    #[inline]
    pub const fn is_timestamps(&self) -> bool {
        !(self.mss.is_some()
            | self.window_scale.is_some()
            | self.sack_permitted
            | (self.sack_blocks > 0)
            | self.fast_open
            | self.multipath
            | self.incomplete)
    }
}

/// A header around the innermost IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// 802.1Q or 802.1ad tag: VLAN number.
    Vlan(u16),
    /// MPLS label.
    Mpls(u32),
    /// 802.1ah service instance.
    Service(u32),
    /// PPPoE session number.
    Pppoe(u16),
    /// An outer IP header: source, destination.
    Ip(IpAddr, IpAddr),
    /// GRE, with its key if it has one.
    Gre(Option<u32>),
    /// VXLAN network identifier.
    Vxlan(u32),
    /// Geneve network identifier.
    Geneve(u32),
    /// GTP-U tunnel endpoint.
    Gtp(u32),
    /// L2TP tunnel and session.
    L2tp(u16, u16),
    /// CAPWAP.
    Capwap,
}

/// Headers around the innermost IP packet, outermost first; at most [`Path::DEPTH`] are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Path {
    layers: [Option<Layer>; Path::DEPTH],
}

impl Path {
    /// Maximum number of headers kept. Further headers are decoded but not recorded.
    pub const DEPTH: usize = 5;

    /// Appends an inner header.
    pub fn push(&mut self, layer: Layer) {
        if let Some(free) = self.layers.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(layer);
        }
    }

    /// Returns whether the innermost IP packet has no header around it but the link layer's.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.layers[0].is_none()
    }

    /// Returns the headers, outermost first.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().flatten()
    }
}

/// A decoded TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Source address and port.
    pub source: Endpoint,
    /// Destination address and port.
    pub destination: Endpoint,
    /// Sequence number on the wire.
    pub sequence: u32,
    /// Acknowledgment number on the wire; meaningful with [`Flags::ACK`] only.
    pub acknowledgment: u32,
    /// Flag bits.
    pub flags: Flags,
    /// Window field on the wire, unscaled.
    pub window: u16,
    /// Length of the TCP header with its options, in bytes.
    pub header_bytes: u8,
    /// Number of payload bytes on the wire, captured or not. It is derived from the IP length, or from the wire length
    /// if segmentation offload left the IP length 0.
    pub payload_bytes: u32,
    /// TCP options.
    pub options: Options,
    /// Time to live or hop limit of the innermost IP header.
    pub ttl: u8,
    /// IPv4 identification; `None` for IPv6.
    pub identification: Option<u16>,
    /// ECN field of the innermost IP header, 0 to 3 (RFC 3168 section 5).
    pub ecn: u8,
    /// TCP checksum field as captured; it distinguishes copies of one packet from retransmissions.
    pub checksum: u16,
    /// What only a few segments show: the layout of a SYN's options, the cookie of iperf3, or a TLS alert.
    pub marks: Marks,
}

impl Segment {
    /// Returns source and destination.
    #[must_use]
    #[inline(always)] // for every segment
    pub const fn ends(&self) -> [&Endpoint; 2] {
        [&self.source, &self.destination]
    }

    /// Returns whether the segment requests a connection: it has SYN but not ACK.
    #[must_use]
    pub const fn opens(&self) -> bool {
        self.flags.has(Flags::SYN) && !self.flags.has(Flags::ACK)
    }
}
