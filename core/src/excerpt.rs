//! # Excerpt
//! Writes selected frames of captures to a pcapng file, with a comment on what the whole captures show. Frames are whole
//! or without payload, and keep their addresses or get others.

use crate::capture::{Frame, Interface, Reader, write_interface, write_packet, write_section};
use crate::decode::{Header, Kind, headers, link_type_name};
use crate::source::{Source, Stop, in_order};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;

/// Returns a replacement of the same length for an address: 4 bytes for IPv4, 6 for a MAC address, 16 for IPv6.
pub type Rename = Box<dyn FnMut(&[u8]) -> io::Result<Vec<u8>> + Send>;

/// A pcapng file in the making, from frames of one or more captures.
pub struct Excerpt {
    sources: VecDeque<Source>,
    reader: Option<Reader>,
    frames_before: u64,
    frames_in_file: u64,
    /// Number of each wanted frame, ascending, and the time to write for it, in ns since the epoch.
    wanted: VecDeque<(u64, i64)>,
    headers_only: bool,
    replacements: Option<Replacements>,
    link_type: Option<u32>,
    about: Option<String>,
    resolution: u8,
}

impl Excerpt {
    /// Prepares an excerpt of the `wanted` frames. Each has its number, counted from 1 over all `sources`, and the time
    /// to write for it, in ns since the epoch; numbers ascend. `headers_only` leaves out the bytes after the TCP
    /// header, and `rename` replaces each address. `about` is the comment on the section; `resolution` is the negative
    /// exponent of the timestamps' unit, from 0 for seconds to 9 for nanoseconds.
    ///
    /// # Errors
    /// If a source cannot be read.
    pub fn new(
        sources: Vec<Source>,
        wanted: VecDeque<(u64, i64)>,
        headers_only: bool,
        rename: Option<Rename>,
        about: Option<String>,
        resolution: u8,
    ) -> Result<Self, Stop> {
        Ok(Self {
            sources: in_order(sources)?,
            reader: None,
            frames_before: 0,
            frames_in_file: 0,
            wanted,
            headers_only,
            replacements: rename.map(Replacements::new),
            link_type: None,
            about,
            resolution,
        })
    }

    /// Reads up to `frames` frames and appends the wanted ones to `out`; returns whether more may follow.
    ///
    /// # Errors
    /// If a source cannot be read, or the frames have more than one link type.
    pub fn advance(&mut self, frames: usize, out: &mut Vec<u8>) -> Result<bool, Stop> {
        for _ in 0..frames {
            let Some(&(number, time_ns)) = self.wanted.front() else {
                return Ok(false);
            };
            if self.reader.is_none() {
                self.reader = self.sources.pop_front().map(Source::open).transpose()?;
            }
            let Some(reader) = &mut self.reader else {
                return Ok(false);
            };
            // A damaged capture is read up to the damage.
            let Ok(Some(frame)) = reader.next_frame() else {
                self.reader = None;
                self.frames_before += std::mem::take(&mut self.frames_in_file);
                continue;
            };
            self.frames_in_file = frame.number;
            if self.frames_before + frame.number < number {
                continue;
            }
            self.wanted.pop_front();
            match self.link_type {
                None => {
                    self.link_type = Some(frame.link_type);
                    write_section(self.about.as_deref(), out);
                    write_interface(&Interface::new(frame.link_type, self.resolution), out);
                }
                Some(link_type) if link_type == frame.link_type => {}
                Some(link_type) => {
                    let [one, other] = [link_type, frame.link_type].map(|link_type| {
                        link_type_name(link_type)
                            .map_or_else(|| link_type.to_string(), String::from)
                    });
                    return Err(Stop::Unreadable(format!(
                        "frame {number}: the stream was captured on two link types ({one}, {other}), of which an excerpt \
                         holds one: select one with a filter"
                    )));
                }
            }
            let replacements = self.replacements.as_mut();
            let data = content(&frame, self.headers_only, replacements)?;
            let written = Frame {
                time_ns: Some(time_ns),
                // Some captures state a wire length below the number of captured bytes.
                wire_len: frame.wire_len.max(frame.data.len() as u32),
                data: &data,
                ..frame
            };
            write_packet(&written, self.resolution, None, out);
        }
        Ok(true)
    }
}

/// Returns the bytes to write of a frame.
fn content(
    frame: &Frame<'_>,
    headers_only: bool,
    replacements: Option<&mut Replacements>,
) -> Result<Vec<u8>, Stop> {
    let unreadable = |reason: &dyn std::fmt::Display| Stop::Unreadable(reason.to_string());
    let headers = headers(frame.link_type, frame.data, frame.wire_len)
        .map_err(|reason| unreadable(&reason.reason()))?;
    let kept = match headers.last() {
        Some(tcp) if headers_only => tcp.range.end,
        _ => frame.data.len(),
    };
    let mut bytes = frame.data[..kept].to_vec();
    if let Some(replacements) = replacements {
        rename(&mut bytes, &headers, replacements).map_err(|error| unreadable(&error))?;
    }
    Ok(bytes)
}

/// Replacements of addresses; each is requested once.
struct Replacements {
    known: HashMap<Vec<u8>, Vec<u8>>,
    rename: Rename,
}

impl Replacements {
    fn new(rename: Rename) -> Self {
        Self {
            known: HashMap::new(),
            rename,
        }
    }

    fn replace(&mut self, address: &mut [u8]) -> io::Result<()> {
        if !self.known.contains_key(&*address) {
            let replacement = (self.rename)(address)?;
            if replacement.len() != address.len() {
                return Err(io::Error::other("a new address is of another length"));
            }
            self.known.insert(address.to_vec(), replacement);
        }
        if let Some(replacement) = self.known.get(&*address) {
            address.copy_from_slice(replacement);
        }
        Ok(())
    }
}

/// Replaces every address in the headers, blanks other fields that could identify a host, and updates the checksums.
fn rename(frame: &mut [u8], headers: &[Header], replacements: &mut Replacements) -> io::Result<()> {
    let before = frame.to_vec();
    for header in headers {
        let bytes = &mut frame[header.range.clone()];
        for &(start, len) in addresses(header.kind, bytes) {
            replacements.replace(&mut bytes[start..start + len])?;
        }
        blank(header.kind, bytes);
    }
    // Innermost header first, since an outer checksum covers the inner ones.
    for (index, header) in headers.iter().enumerate().rev() {
        let start = header.range.start;
        let to_the_end = start..frame.len();
        let outer = &headers[..index];
        match header.kind {
            Kind::Ipv4 => update_checksum(&before, frame, start + 10, header.range.clone(), &[]),
            Kind::Tcp => update_checksum(&before, frame, start + 16, to_the_end, outer),
            // RFC 768: the field 0 means that there is no checksum, and a checksum of 0 is sent as 0xffff.
            Kind::Udp if frame[start + 6..start + 8] != [0, 0] => {
                update_checksum(&before, frame, start + 6, to_the_end, outer);
                if frame[start + 6..start + 8] == [0, 0] {
                    frame[start + 6..start + 8].fill(0xff);
                }
            }
            // The first flag announces a checksum (RFC 2784 section 2.1).
            Kind::Gre if frame[start] & 0x80 != 0 => {
                update_checksum(&before, frame, start + 4, to_the_end, &[]);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the offset and length in bytes of each address in a header.
fn addresses(kind: Kind, header: &[u8]) -> &'static [(usize, usize)] {
    /// Flags "to DS" and "from DS" in the second byte of frame control; with both there is a fourth address.
    const TO_AND_FROM_DS: u8 = 0x03;
    match kind {
        Kind::Ethernet => &[(0, 6), (6, 6)],
        Kind::Cooked => &[(6, 6)],
        Kind::Cooked2 => &[(12, 6)],
        Kind::Wifi { swapped }
            if header[usize::from(!swapped)] & TO_AND_FROM_DS == TO_AND_FROM_DS =>
        {
            &[(4, 6), (10, 6), (16, 6), (24, 6)]
        }
        Kind::Wifi { .. } => &[(4, 6), (10, 6), (16, 6)],
        Kind::Fddi => &[(1, 6), (7, 6)],
        Kind::Ipv4 => &[(12, 4), (16, 4)],
        Kind::Ipv6 => &[(8, 16), (24, 16)],
        _ => &[],
    }
}

/// Blanks the fields of a header that may contain an address: options and extensions that no analysis reads.
fn blank(kind: Kind, header: &mut [u8]) {
    const NO_OPERATION: u8 = 1;
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const GENEVE: [u8; 2] = 6081_u16.to_be_bytes();
    const CAPWAP: [u8; 2] = 5247_u16.to_be_bytes();
    match kind {
        // The last two bytes of a link address of up to 8 bytes.
        Kind::Cooked => header[12..14].fill(0),
        Kind::Cooked2 => header[18..20].fill(0),
        // The header begins with the device's name.
        Kind::Prism => header.iter_mut().skip(8).for_each(|byte| *byte = 0),
        Kind::Ipv4 => header[20..].fill(NO_OPERATION),
        Kind::Extension(FRAGMENT | AUTHENTICATION) => {}
        // Zeros are padding in hop-by-hop and destination options. In a routing header they mean that no segments are
        // left, so the destination in the IPv6 header is the final one.
        Kind::Extension(_) => header[2..].fill(0),
        Kind::Udp if header[2..4] == GENEVE => header[16..].fill(0),
        // The radio's MAC address and wireless information.
        Kind::Udp if header[..2] == CAPWAP || header[2..4] == CAPWAP => {
            header.iter_mut().skip(16).for_each(|byte| *byte = 0);
        }
        // Hardware addresses of 20 bytes, for which there are no replacements.
        Kind::Ipoib => header[..40].fill(0),
        Kind::Nflog => blank_nflog(header),
        // Extension headers may identify a host; the first byte of each, its type, stays.
        Kind::Erf => {
            for extension in header[16..].chunks_mut(8) {
                extension[1..].fill(0);
            }
        }
        Kind::Tcp => blank_options(&mut header[20..]),
        _ => {}
    }
}

/// Blanks the values of NFLOG's fields (addresses, interfaces, the rule's prefix); their lengths and types stay.
fn blank_nflog(header: &mut [u8]) {
    let mut fields = header.get_mut(4..).unwrap_or_default();
    // The last field is the payload's head; the payload itself is not part of the header.
    while let Some((field, rest)) = fields.split_first_chunk_mut::<4>() {
        let [little, big] = [u16::from_le_bytes, u16::from_be_bytes];
        let order = if little([field[2], field[3]]) < 0x0100 {
            little
        } else {
            big
        };
        let content = usize::from(order([field[0], field[1]])).saturating_sub(4);
        let (content, rest) = rest.split_at_mut(content.next_multiple_of(4).min(rest.len()));
        content.fill(0);
        fields = rest;
    }
}

/// Blanks the values of TCP options, except of those that only hold numbers of the connection. Kinds and lengths stay.
fn blank_options(mut list: &mut [u8]) {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    /// MSS, window scale, SACK permitted, SACK, timestamps.
    const NUMBERS: [u8; 5] = [2, 3, 4, 5, 8];
    /// The value of an experimental option begins with the number of the experiment (RFC 6994).
    const EXPERIMENTS: [u8; 2] = [253, 254];
    while let [kind, tail @ ..] = list {
        list = match *kind {
            END => return tail.fill(0),
            NO_OPERATION => tail,
            kind => {
                let Some((len, tail)) = tail.split_first_mut() else {
                    return;
                };
                let value_bytes = usize::from(*len).saturating_sub(2);
                if *len < 2 || value_bytes > tail.len() {
                    return tail.fill(0);
                }
                let (value, rest) = tail.split_at_mut(value_bytes);
                if EXPERIMENTS.contains(&kind) {
                    value.iter_mut().skip(2).for_each(|byte| *byte = 0);
                } else if !NUMBERS.contains(&kind) {
                    value.fill(0);
                }
                rest
            }
        };
    }
}

/// Returns the places of the source and destination address in the pseudo header of a checksum inside these headers.
/// Only these fields of a pseudo header can change.
fn pseudo_header(outer: &[Header], frame: &[u8]) -> [Range<usize>; 2] {
    const ROUTING: u8 = 43;
    let mut last = None;
    for header in outer.iter().rev() {
        let start = header.range.start;
        match header.kind {
            Kind::Ipv4 => return [start + 12..start + 16, start + 16..start + 20],
            Kind::Ipv6 => {
                let destination = last.unwrap_or(start + 24..start + 40);
                return [start + 8..start + 24, destination];
            }
            Kind::Extension(ROUTING) => last = last.or(final_destination(header, frame)),
            _ => {}
        }
    }
    [0..0, 0..0]
}

/// Returns the place of the final destination in a routing header, which is part of the pseudo header while segments
/// are left. The destination in the IPv6 header then is the next hop (RFC 8200 section 8.1).
fn final_destination(routing: &Header, frame: &[u8]) -> Option<Range<usize>> {
    /// RFC 2460 section 4.4, and RFC 6275 section 6.4 with a single address: the last address is the final one.
    const SOURCE_ROUTE: u8 = 0;
    const HOME_ADDRESS: u8 = 2;
    /// RFC 8754 section 2: the first address is the final one, since the list is in reverse order.
    const SEGMENTS: u8 = 4;
    let Range { start, end } = routing.range;
    match frame[routing.range.clone()] {
        // The header is too short for an address, or no segment is left.
        [_, 0 | 1, ..] | [_, _, _, 0, ..] => None,
        [_, _, SOURCE_ROUTE | HOME_ADDRESS, ..] => Some(end - 16..end),
        [_, _, SEGMENTS, ..] => Some(start + 8..start + 24),
        _ => None,
    }
}

/// Updates an Internet checksum at offset `field` by the change of the bytes it covers (RFC 1624, equation 3). These
/// are the `covered` bytes of the frame, and the pseudo header if there are `outer` headers.
///
/// Covered bytes that the capture lacks do not change. A correct checksum thus stays correct, and a wrong one wrong.
fn update_checksum(
    before: &[u8],
    now: &mut [u8],
    field: usize,
    covered: Range<usize>,
    outer: &[Header],
) {
    let sum = |frame: &[u8]| {
        let [source, destination] = pseudo_header(outer, frame);
        [covered.clone(), source, destination]
            .into_iter()
            .fold(0, |sum, bytes| add(sum, &frame[bytes]))
    };
    let (old_sum, new_sum) = (sum(before), sum(now));
    if old_sum == new_sum {
        return;
    }
    let old = u16::from_be_bytes([now[field], now[field + 1]]);
    let difference = u32::from(!old_sum) + u32::from(new_sum) + u32::from(!old);
    now[field..field + 2].copy_from_slice(&(!fold(difference)).to_be_bytes());
}

/// Adds the bytes to `sum` as 16-bit words in ones' complement (RFC 1071).
fn add(sum: u16, bytes: &[u8]) -> u16 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |byte| u16::from(*byte) << 8);
    pairs
        .iter()
        .map(|pair| u16::from_be_bytes(*pair))
        .chain([last])
        .fold(sum, |sum, word| fold(u32::from(sum) + u32::from(word)))
}

/// Reduces a sum of a few 16-bit words to 16 bits by adding its carries.
const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::packets::{encapsulate, ip_packet, segment as decode, tunnel};
    use crate::decode::{Endpoint, LINK_TYPES, Layer, Path, Segment};
    use proptest::prelude::*;
    use std::net::IpAddr;

    const RAW: u32 = 101;

    /// Returns the address with every bit inverted.
    fn inverted(address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => address.octets().map(|byte| !byte).into(),
            IpAddr::V6(address) => address.octets().map(|byte| !byte).into(),
        }
    }

    fn inverted_end(end: Endpoint) -> Endpoint {
        Endpoint {
            address: inverted(end.address),
            ..end
        }
    }

    fn inverted_path(path: &Path) -> Path {
        let mut inverted_path = Path::default();
        for layer in path.layers() {
            inverted_path.push(match *layer {
                Layer::Ip(from, to) => Layer::Ip(inverted(from), inverted(to)),
                other => other,
            });
        }
        inverted_path
    }

    /// Returns the bytes written for a frame whose addresses are all inverted; `None` if it cannot be written.
    fn renamed(link_type: u32, data: &[u8], wire_len: u32, headers_only: bool) -> Option<Vec<u8>> {
        let frame = Frame {
            number: 1,
            time_ns: Some(0),
            link_type,
            wire_len,
            data,
        };
        let mut replacements = Replacements::new(Box::new(|address| {
            Ok(address.iter().map(|byte| !byte).collect())
        }));
        content(&frame, headers_only, Some(&mut replacements)).ok()
    }

    fn as_renamed(segment: &Segment, renamed: &Segment) -> Segment {
        Segment {
            source: inverted_end(segment.source),
            destination: inverted_end(segment.destination),
            checksum: renamed.checksum,
            ..*segment
        }
    }

    proptest! {
        #[test]
        fn a_renamed_frame_is_the_same_segment_with_other_addresses(
            packet in ip_packet(),
            tunnels in prop::collection::vec(tunnel(), 0..=3),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            more in 0..2000_u32,
            headers_only: bool,
        ) {
            let mut bytes = packet.bytes;
            for (layer, over_ipv4) in tunnels {
                bytes = encapsulate(&bytes, layer, over_ipv4);
            }
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let wire_len = bytes.len() as u32 + more;
            let before = decode(RAW, &bytes, wire_len);
            let frame = renamed(RAW, &bytes, wire_len, headers_only);
            prop_assert_eq!(frame.is_some(), before.is_ok());
            if let (Ok(before), Some(frame)) = (before, frame) {
                let after = decode(RAW, &frame, wire_len).expect("a segment again");
                prop_assert_eq!(as_renamed(&before.0, &after.0), after.0);
                prop_assert_eq!(inverted_path(&before.1), after.1);
            }
        }

        #[test]
        fn hostile_bytes_never_panic(
            link_type in prop::sample::select(LINK_TYPES),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            wire_len: u32,
        ) {
            prop_assert_eq!(
                renamed(link_type, &bytes, wire_len, true).is_some(),
                decode(link_type, &bytes, wire_len).is_ok()
            );
        }
    }

    #[test]
    fn link_addresses_are_renamed_on_every_kind_of_link() {
        const MAC: [u8; 6] = [0xa1; 6];
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        let ip = [
            0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 0, 0,
            3, 0, 0, 0, 4, 0x50, 0x10, 0, 5, 0, 6, 0, 0,
        ];
        let all = [MAC; 4].concat();
        let links: [(u32, Vec<u8>); 8] = [
            (1, [&all[..12], &[8, 0]].concat()),
            (113, [&[0, 0, 0, 1, 0, 6], &all[..8], &[8, 0]].concat()),
            (
                276,
                [&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &all[..8]].concat(),
            ),
            (105, [&[8, 1, 0, 0], &all[..18], &[0, 0], &snap].concat()),
            (
                105,
                [&[8, 3, 0, 0], &all[..18], &[0, 0], &MAC, &snap].concat(),
            ),
            (10, [&[0x50], &all[..12], &snap].concat()),
            (242, [&all[..20], &all[..20], &[8, 0, 0, 0]].concat()),
            (
                197,
                [&[0; 8][..], &[0x80 | 22], &[0; 7], &[4, 0], &MAC].concat(),
            ),
        ];
        for (link_type, header) in links {
            let frame = [&header[..], &ip].concat();
            let renamed = renamed(link_type, &frame, 0, true).expect("a frame");
            assert!(!renamed.contains(&MAC[0]), "link type {link_type}");
            assert_eq!(renamed.len(), frame.len());
        }
    }

    #[test]
    fn the_example_of_rfc_1624_is_reproduced() {
        // Section 4: the header checksum is dd2f, and a field changes from 5555 to 3285.
        let before = [0xdd, 0x2f, 0x55, 0x55];
        let mut now = [0xdd, 0x2f, 0x32, 0x85];
        update_checksum(&before, &mut now, 0, 2..4, &[]);
        assert_eq!(now, [0x00, 0x00, 0x32, 0x85]);
    }

    #[test]
    fn a_checksum_over_unchanged_bytes_does_not_change() {
        let before = [0xff, 0xff, 1, 2];
        let mut now = before;
        update_checksum(&before, &mut now, 0, 2..4, &[]);
        assert_eq!(now, before);
    }

    #[test]
    fn options_keep_their_kind_and_length_and_only_numbers_keep_their_value() {
        let mut list = [
            2, 4, 5, 180, 1, 30, 8, 0x31, 9, 10, 0, 0, 1, 34, 4, 7, 7, 254, 6, 0xf9, 0x89, 7, 7,
        ];
        blank_options(&mut list);
        assert_eq!(
            list,
            [
                2, 4, 5, 180, 1, 30, 8, 0, 0, 0, 0, 0, 0, 34, 4, 0, 0, 254, 6, 0xf9, 0x89, 0, 0
            ]
        );
    }

    #[test]
    fn an_option_that_does_not_fit_is_blanked_to_the_end() {
        for (mut list, blanked) in [
            ([99, 9, 7, 7], [99, 9, 0, 0]),
            ([1, 99, 1, 7], [1, 99, 1, 0]),
        ] {
            blank_options(&mut list);
            assert_eq!(list, blanked);
        }
    }
}
