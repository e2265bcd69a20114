//! # Line
//! A segment in one line of the CPU's cache. Thousands of segments are in transit between the reading thread and those
//! that track connections, and each cache line costs a wait. Short-lived connections keep their segments in this form,
//! too.

use crate::decode::{Endpoint, Flags, Marks, Options, Segment, Tcp};
use crate::track::at::At;
use std::net::{IpAddr, Ipv4Addr};

/// Where a segment was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// The segment was captured as a packet.
    Captured,
    /// The segment was quoted by an ICMP message.
    Quoted,
}

/// A segment in the size of one cache line, with its position in the capture.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Line {
    /// Position in the capture.
    pub at: At,
    /// Index of the headers around the segment.
    pub path: u32,
    addresses: [Ipv4Addr; 2],
    ports: [u16; 2],
    sequence: u32,
    acknowledgment: u32,
    payload_bytes: u32,
    timestamps: (u32, u32),
    window: u16,
    checksum: u16,
    identification: u16,
    flags: Flags,
    ttl: u8,
    header_bytes: u8,
    ecn: u8,
    content: Content,
}

const _: () = assert!(size_of::<Line>() == 64);

/// How a line holds its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// The line holds a segment without options.
    NoOptions,
    /// The line holds a segment whose only option is timestamps, as in most segments.
    Timestamps,
    /// The segment is in [`Lines::oversized`]; its index is in the line's field `sequence`.
    Elsewhere(Provenance),
}

impl Line {
    /// Returns the addresses of a segment that fits a line; `None` where it does not. Captured segments over IPv4 fit
    /// if they have no other option than timestamps, and no marks.
    #[inline]
    fn fits(provenance: Provenance, segment: &Segment) -> Option<[Ipv4Addr; 2]> {
        match (
            provenance,
            segment.source.address,
            segment.destination.address,
        ) {
            (Provenance::Captured, IpAddr::V4(source), IpAddr::V4(destination))
                if segment.identification.is_some()
                    && segment.options.is_timestamps()
                    && segment.marks == Marks::default() =>
            {
                Some([source, destination])
            }
            _ => None,
        }
    }

    /// Returns the line of a segment that [fits](Self::fits), given its addresses.
    #[inline]
    fn new(segment: &Segment, addresses: [Ipv4Addr; 2], path: u32, at: At) -> Self {
        let timestamps = segment.options.timestamps;
        Self {
            at,
            path,
            addresses,
            ports: [segment.source.port, segment.destination.port],
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgment,
            payload_bytes: segment.payload_bytes,
            timestamps: timestamps.unwrap_or_default(),
            window: segment.window,
            checksum: segment.checksum,
            identification: segment.identification.unwrap_or_default(),
            flags: segment.flags,
            ttl: segment.ttl,
            header_bytes: segment.header_bytes,
            ecn: segment.ecn,
            content: if timestamps.is_some() {
                Content::Timestamps
            } else {
                Content::NoOptions
            },
        }
    }

    /// Returns a line that refers to the segment at `place` in [`Lines::oversized`].
    fn reference(place: u32, provenance: Provenance, path: u32, at: At) -> Self {
        Self {
            at,
            path,
            addresses: [Ipv4Addr::UNSPECIFIED; 2],
            ports: [0; 2],
            sequence: place,
            acknowledgment: 0,
            payload_bytes: 0,
            timestamps: (0, 0),
            window: 0,
            checksum: 0,
            identification: 0,
            flags: Flags(0),
            ttl: 0,
            header_bytes: 0,
            ecn: 0,
            content: Content::Elsewhere(provenance),
        }
    }

    /// Returns the segment; the line must hold it.
    #[inline]
    fn segment(&self) -> Segment {
        let [source, destination] = [0, 1].map(|end| Endpoint {
            address: self.addresses[end].into(),
            port: self.ports[end],
        });
        let timestamps = matches!(self.content, Content::Timestamps).then_some(self.timestamps);
        Segment {
            source,
            destination,
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            header_bytes: self.header_bytes,
            payload_bytes: self.payload_bytes,
            options: Options {
                timestamps,
                ..Options::default()
            },
            ttl: self.ttl,
            identification: Some(self.identification),
            ecn: self.ecn,
            checksum: self.checksum,
            marks: Marks::default(),
        }
    }
}

/// Segments in the order of the capture.
#[derive(Debug, Default)]
pub struct Lines {
    lines: Vec<Line>,
    /// Segments that do not fit a line.
    oversized: Vec<Segment>,
}

impl Lines {
    /// Reserves memory for `lines` segments, of which `oversized` do not fit a line.
    #[must_use]
    pub fn with_room(lines: usize, oversized: usize) -> Self {
        Self {
            lines: Vec::with_capacity(lines),
            oversized: Vec::with_capacity(oversized),
        }
    }

    /// Adds the next segment; `path` is the index of the headers around it.
    #[inline]
    pub fn push(&mut self, provenance: Provenance, segment: &Segment, path: u32, at: At) {
        match Line::fits(provenance, segment) {
            Some(addresses) => self.lines.push(Line::new(segment, addresses, path, at)),
            None => self.push_oversized(provenance, segment, path, at),
        }
    }

    /// Adds the next segment, given its header; see [`Self::push`].
    #[inline]
    pub fn push_header(&mut self, provenance: Provenance, tcp: &Tcp<'_>, path: u32, at: At) {
        // The fields of a usual header go straight into its line, without a segment in memory between.
        if let Some(segment) = tcp.usual()
            && let Some(addresses) = Line::fits(provenance, &segment)
        {
            self.lines.push(Line::new(&segment, addresses, path, at));
        } else {
            self.push_unusual(provenance, tcp, path, at);
        }
    }

    #[cold]
    fn push_unusual(&mut self, provenance: Provenance, tcp: &Tcp<'_>, path: u32, at: At) {
        self.push(provenance, &tcp.segment(), path, at);
    }

    #[cold]
    fn push_oversized(&mut self, provenance: Provenance, segment: &Segment, path: u32, at: At) {
        let place = self.oversized.len() as u32;
        self.lines
            .push(Line::reference(place, provenance, path, at));
        self.oversized.push(*segment);
    }

    /// Returns the lines, one for each segment.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Passes the segment of one of the lines to `take`, with its provenance.
    #[inline]
    pub fn read<T>(&self, line: &Line, take: impl FnOnce(Provenance, &Segment) -> T) -> T {
        match line.content {
            Content::Elsewhere(provenance) => {
                take(provenance, &self.oversized[line.sequence as usize])
            }
            Content::NoOptions | Content::Timestamps => take(Provenance::Captured, &line.segment()),
        }
    }

    /// Returns the memory that the segments take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.lines[..]) + size_of_val(&self.oversized[..])
    }

    /// Removes all segments.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.oversized.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end() -> impl Strategy<Value = Endpoint> {
        let address = prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
            any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
        ];
        (address, any::<u16>()).prop_map(|(address, port)| Endpoint { address, port })
    }

    prop_compose! {
        fn options()(
            timestamps: Option<(u32, u32)>, mss: Option<u16>, window_scale: Option<u8>, edges: [(u32, u32); 4],
            sack_blocks in 0..=4u8, others: [bool; 4], plain: bool,
        ) -> Options {
            let [sack_permitted, fast_open, multipath, incomplete] = others;
            if plain {
                return Options { timestamps, ..Options::default() };
            }
            // Unused blocks are empty, so that a segment without blocks equals its restored copy.
            let mut sack = [(0, 0); 4];
            let blocks = usize::from(sack_blocks);
            sack[..blocks].copy_from_slice(&edges[..blocks]);
            Options { timestamps, mss, window_scale, sack, sack_blocks, sack_permitted, fast_open, multipath, incomplete }
        }
    }

    prop_compose! {
        fn segment()(
            source in end(), destination in end(), options in options(), sequence: u32, acknowledgment: u32,
            flags: u8, window: u16, header_bytes: u8, payload_bytes: u32, ttl: u8, identification: Option<u16>,
            ecn in 0..4u8, checksum: u16,
            marks in prop_oneof![Just(0), any::<u64>()],
        ) -> Segment {
            Segment {
                source, destination, sequence, acknowledgment, flags: Flags(flags), window, header_bytes,
                payload_bytes, options, ttl, identification, ecn, checksum,
                marks: Marks(marks),
            }
        }
    }

    proptest! {
        #[test]
        fn reading_restores_segments(
            segments in prop::collection::vec((segment(), any::<bool>(), any::<u32>(), any::<u64>()), 0..20),
        ) {
            let mut lines = Lines::default();
            for (segment, quoted, path, frame) in &segments {
                let provenance = if *quoted { Provenance::Quoted } else { Provenance::Captured };
                lines.push(provenance, segment, *path, At { time_ns: 7, frame: *frame });
            }
            prop_assert_eq!(lines.lines().len(), segments.len());
            for (line, (segment, quoted, path, frame)) in lines.lines().iter().zip(&segments) {
                prop_assert_eq!((line.path, line.at.frame), (*path, *frame));
                lines.read(line, |provenance, back| {
                    prop_assert_eq!(provenance == Provenance::Quoted, *quoted);
                    prop_assert_eq!(back, segment);
                    Ok(())
                })?;
            }
        }

        #[test]
        fn an_ipv4_segment_with_timestamps_only_fits_a_line(
            segment in segment(), addresses: [u32; 2], identification: u16, timestamps: Option<(u32, u32)>,
        ) {
            let mut plain = segment;
            (plain.source.address, plain.destination.address) = addresses.map(|bits| Ipv4Addr::from(bits).into()).into();
            plain.identification = Some(identification);
            plain.marks = Marks::default();
            plain.options = Options { timestamps, ..Options::default() };
            let mut lines = Lines::default();
            lines.push(Provenance::Captured, &plain, 0, At { time_ns: 7, frame: 1 });
            prop_assert_eq!(lines.bytes(), size_of::<Line>());
        }
    }
}
