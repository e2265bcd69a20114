//! # Pcap
//! Reads the classic format, <https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/>, and its older dialects.

use std::io::Read;

use super::buffer::Window;
use super::bytes::ByteOrder;
use super::error::Reason;
use super::frame::{Record, max_captured};
use super::info::{CaptureInfo, Interface};

const FILE_HEADER_BYTES: usize = 24;
/// A second, in ns.
const SECOND_NS: i64 = 1_000_000_000;

/// Reader of a pcap file, with the facts of its header.
pub(super) struct Pcap {
    order: ByteOrder,
    /// Unit of the timestamps' second field, in ns: 1 or 1,000.
    fraction_ns: u32,
    header_bytes: usize,
    lengths: Lengths,
    link_type: u32,
    max_captured: u32,
}

/// Order of the two lengths in a record. Up to version 2.2 the length on the wire comes first. Version 2.3 exists in
/// both orders, and there the smaller length is the captured one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    WireFirst,
    SmallerIsCaptured,
}

/// Returns the byte order, whether timestamps are in nanoseconds instead of microseconds, and whether record headers
/// are modified; `None` if this is no pcap file. Alexey Kuznetzov's modified header adds interface, protocol and packet
/// type.
fn dialect(magic: [u8; 4]) -> Option<(ByteOrder, bool, bool)> {
    let read = |order, magic| match magic {
        0xa1b2_c3d4_u32 => Some((order, false, false)),
        0xa1b2_3c4d => Some((order, true, false)),
        0xa1b2_cd34 => Some((order, false, true)),
        _ => None,
    };
    read(ByteOrder::Little, u32::from_le_bytes(magic))
        .or_else(|| read(ByteOrder::Big, u32::from_be_bytes(magic)))
}

impl Pcap {
    /// Bytes of a record's header; modified formats have more fields after them.
    const LEAST_HEADER_BYTES: usize = 16;
    /// Bytes of a record's header as Kuznetzov's format has it.
    const MODIFIED_HEADER_BYTES: usize = 24;
    /// Bytes of a record's header as Nokia's firewalls write it: a field of four bytes follows the usual ones. The
    /// magic number and the version are the usual ones.
    const NOKIA_HEADER_BYTES: usize = 20;

    /// Reads the file header; `None` if the magic number is not pcap's.
    pub fn open<R: Read>(
        magic: [u8; 4],
        window: &mut Window<R>,
        info: &mut CaptureInfo,
    ) -> Result<Option<Self>, Reason> {
        let Some((order, nanoseconds, modified)) = dialect(magic) else {
            return Ok(None);
        };
        if !window.fill(FILE_HEADER_BYTES)? {
            return Err(Reason::CutShort {
                needed: FILE_HEADER_BYTES,
                left: window.bytes().len(),
            });
        }
        let header = window.bytes();
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        let snaplen = order.u32(header, 16);
        // The upper 16 bits hold the length of a frame check sequence and reserved bits.
        let link_type = order.u32(header, 20) & 0xffff;
        window.take(FILE_HEADER_BYTES);

        let lengths = match (major, minor) {
            (0 | 1, _) => return Err(Reason::Version(major, minor)),
            // DG/UX wrote version 2.0 as 543.0.
            (2 | 543, 0..=2) => Lengths::WireFirst,
            (2 | 543, 3) => Lengths::SmallerIsCaptured,
            _ => Lengths::CapturedFirst,
        };
        let (fraction_ns, unit, resolution, time_unit) = if nanoseconds {
            (1, "nanoseconds", 9, "10^-9 s")
        } else {
            (1000, "microseconds", 6, "10^-6 s")
        };
        let mut pcap = Pcap {
            order,
            fraction_ns,
            header_bytes: if modified {
                Self::MODIFIED_HEADER_BYTES
            } else {
                Self::LEAST_HEADER_BYTES
            },
            lengths,
            link_type,
            max_captured: max_captured(link_type),
        };
        if !modified && !nanoseconds && pcap.is_nokia(window)? {
            pcap.header_bytes = Self::NOKIA_HEADER_BYTES;
        }
        let name = match pcap.header_bytes {
            Self::MODIFIED_HEADER_BYTES => "modified pcap",
            Self::NOKIA_HEADER_BYTES => "Nokia pcap",
            _ => "pcap",
        };
        info.format = format!("{name} ({unit}, {})", order.name());
        info.version = (major, minor);
        info.sections = 1;
        info.interfaces.push(Interface {
            link_type,
            snaplen: (snaplen != 0).then_some(snaplen),
            resolution,
            time_unit: time_unit.to_owned(),
            ..Interface::default()
        });
        Ok(Some(pcap))
    }

    /// Do record headers have Nokia's length? The second record shows it: its header makes sense four bytes after its
    /// usual place, and there alone.
    fn is_nokia<R: Read>(&self, window: &mut Window<R>) -> Result<bool, Reason> {
        let extra = Self::NOKIA_HEADER_BYTES - Self::LEAST_HEADER_BYTES;
        if !window.fill(Self::LEAST_HEADER_BYTES)? {
            return Ok(false);
        }
        let (captured, _) = self.lengths(window.bytes());
        if captured > self.max_captured {
            return Ok(false);
        }
        let usual = Self::LEAST_HEADER_BYTES + captured as usize;
        if !window.fill(usual + Self::NOKIA_HEADER_BYTES)? {
            return Ok(false);
        }
        let bytes = window.bytes();
        let first = self.order.u32(bytes, 0);
        let away = |at: usize| self.order.u32(bytes, at).abs_diff(first);
        let fraction = |at: usize| self.time_ns(0, self.order.u32(bytes, at + 4));
        let (captured, wire_len) = self.lengths(&bytes[usual + extra..]);
        Ok(fraction(usual).is_none()
            && fraction(usual + extra).is_some()
            && captured <= wire_len.min(self.max_captured)
            && away(usual + extra) < away(usual))
    }

    /// Returns the next record; `None` at the end. On an error nothing is consumed.
    pub fn next<R: Read>(&self, window: &mut Window<R>) -> Result<Option<Record>, Reason> {
        loop {
            if let Some(record) = self.buffered(window) {
                return Ok(Some(record));
            }
            if !self.fill(window)? {
                return Ok(None);
            }
        }
    }

    /// Returns the next record if all of it is in memory.
    #[inline(always)] // most of the time that a frame takes before it is decoded
    pub fn buffered<R: Read>(&self, window: &mut Window<R>) -> Option<Record> {
        let header: &[u8; Self::LEAST_HEADER_BYTES] = window.bytes().first_chunk()?;
        let [seconds, fraction] = [0, 4].map(|offset| self.order.u32(header, offset));
        let (captured, wire_len) = self.lengths(header);
        let needed = self.header_bytes + captured as usize;
        if captured > self.max_captured || window.bytes().len() < needed {
            return None;
        }
        let mut data = window.take(needed);
        data.start += self.header_bytes;
        Some(Record {
            time_ns: self.time_ns(seconds, fraction),
            link_type: self.link_type,
            wire_len,
            data,
        })
    }

    /// Returns the time of a record; `None` if its fraction is a second or more, which is no fraction.
    #[inline(always)]
    fn time_ns(&self, seconds: u32, fraction: u32) -> Option<i64> {
        let fraction_ns = i64::from(fraction) * i64::from(self.fraction_ns);
        (fraction_ns < SECOND_NS).then(|| i64::from(seconds) * SECOND_NS + fraction_ns)
    }

    /// Returns the number of captured bytes and the length on the wire.
    #[inline(always)]
    fn lengths(&self, header: &[u8]) -> (u32, u32) {
        let [first, second] = [8, 12].map(|offset| self.order.u32(header, offset));
        match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::WireFirst => (second, first),
            Lengths::SmallerIsCaptured => (first.min(second), first.max(second)),
        }
    }

    /// Reads the next record into memory; returns whether there is one.
    #[cold]
    fn fill<R: Read>(&self, window: &mut Window<R>) -> Result<bool, Reason> {
        let mut needed = self.header_bytes;
        if window.fill(needed)? {
            let (captured, _) = self.lengths(window.bytes());
            if captured > self.max_captured {
                return Err(Reason::PacketTooLong {
                    bytes: captured,
                    max: self.max_captured,
                });
            }
            needed += captured as usize;
            if window.fill(needed)? {
                return Ok(true);
            }
        }
        match window.bytes().len() {
            0 => Ok(false),
            left => Err(Reason::CutShort { needed, left }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Item, file, read};
    use super::*;

    const RECORD: [u32; 4] = [1_700_000_000, 5, 2, 2];

    /// Returns a little-endian file with these records, each of four fields and data.
    fn pcap(
        magic: u32,
        version: (u16, u16),
        link_type: u32,
        records: &[([u32; 4], &[u8])],
    ) -> Vec<u8> {
        let mut bytes = file(magic, version, link_type);
        for (fields, data) in records {
            bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend(*data);
        }
        bytes
    }

    /// Returns a big-endian file with these records.
    fn big_endian(magic: u32, records: &[([u32; 4], &[u8])]) -> Vec<u8> {
        let mut bytes = magic.to_be_bytes().to_vec();
        bytes.extend([
            0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 1,
        ]);
        for (fields, data) in records {
            bytes.extend(fields.iter().flat_map(|field| field.to_be_bytes()));
            bytes.extend(*data);
        }
        bytes
    }

    fn item(time_ns: i64, wire_len: u32, data: &[u8]) -> Item {
        Item {
            number: 1,
            time_ns: Some(time_ns),
            link_type: 1,
            wire_len,
            data: data.to_vec(),
        }
    }

    #[test]
    fn microseconds_and_nanoseconds_in_both_byte_orders() {
        let microseconds = vec![item(1_700_000_000_000_005_000, 2, b"ab")];
        let nanoseconds = vec![item(1_700_000_000_000_000_005, 2, b"ab")];
        let records = [(RECORD, &b"ab"[..])];
        assert_eq!(
            read(&pcap(0xa1b2_c3d4, (2, 4), 1, &records)).frames,
            microseconds
        );
        assert_eq!(
            read(&pcap(0xa1b2_3c4d, (2, 4), 1, &records)).frames,
            nanoseconds
        );
        assert_eq!(
            read(&big_endian(0xa1b2_c3d4, &records)).frames,
            microseconds
        );
        assert_eq!(read(&big_endian(0xa1b2_3c4d, &records)).frames, nanoseconds);
    }

    #[test]
    fn a_fraction_of_a_second_or_more_is_no_time() {
        for (magic, second) in [(0xa1b2_c3d4, 1_000_000), (0xa1b2_3c4d, 1_000_000_000)] {
            for (fraction, is_valid) in [(second - 1, true), (second, false), (u32::MAX, false)] {
                let records = [([u32::MAX, fraction, 2, 2], &b"ab"[..])];
                let time_ns = read(&pcap(magic, (2, 4), 1, &records)).frames[0].time_ns;
                assert_eq!(time_ns.is_some(), is_valid, "{magic:x}: {fraction}");
                assert!(time_ns.is_none_or(|ns| ns / SECOND_NS == i64::from(u32::MAX)));
            }
        }
    }

    #[test]
    fn the_modified_header_has_eight_bytes_more() {
        let mut bytes = file(0xa1b2_cd34, (2, 4), 1);
        bytes.extend(RECORD.iter().flat_map(|field| field.to_le_bytes()));
        bytes.extend(b"\x02\0\0\0\x08\0\x04\0ab");
        assert_eq!(
            read(&bytes).frames,
            [item(1_700_000_000_000_005_000, 2, b"ab")]
        );
    }

    /// Returns a file of Nokia's with records of one second each, whose fraction is the number of the record.
    fn nokia(records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = file(0xa1b2_c3d4, (2, 4), 1);
        for (data, number) in records.iter().zip(0..) {
            let length = u32::try_from(data.len()).expect("a short one");
            let fields = [1_700_000_000 + number, number, length, length, 0x0006_0000];
            bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend(*data);
        }
        bytes
    }

    #[test]
    fn the_header_of_nokia_has_four_bytes_more() {
        let packets = [&b"abcdef"[..], b"ghij", b"", b"klmnopqrst"];
        for count in 2..=packets.len() {
            let read = read(&nokia(&packets[..count]));
            assert_eq!(read.damage, None);
            let data: Vec<_> = read.frames.iter().map(|frame| &frame.data[..]).collect();
            assert_eq!(data, packets[..count]);
            let last = read.frames.last().expect("a frame");
            let seconds = 1_700_000_000 + count as i64 - 1;
            assert_eq!(
                last.time_ns,
                Some(seconds * SECOND_NS + (count as i64 - 1) * 1000)
            );
        }
    }

    #[test]
    fn records_without_a_valid_time_are_not_of_nokia() {
        let no_time = |seconds| ([seconds, 1_700_000_000, 6, 6], &b"\0\0\x01abc"[..]);
        let read = read(&pcap(0xa1b2_c3d4, (2, 4), 1, &[1, 2, 3].map(no_time)));
        assert_eq!((read.frames.len(), read.damage), (3, None));
        assert_eq!(read.frames[0].data, b"\0\0\x01abc");
    }

    #[test]
    fn up_to_version_2_2_the_wire_length_comes_first() {
        for version in [(2, 0), (2, 1), (2, 2), (543, 0)] {
            let records = [([0, 0, 60, 2], &b"ab"[..])];
            assert_eq!(
                read(&pcap(0xa1b2_c3d4, version, 1, &records)).frames,
                [item(0, 60, b"ab")],
                "{version:?}"
            );
        }
    }

    #[test]
    fn in_version_2_3_the_captured_length_is_the_smaller_one() {
        for lengths in [[60, 2], [2, 60]] {
            let records = [([0, 0, lengths[0], lengths[1]], &b"ab"[..])];
            assert_eq!(
                read(&pcap(0xa1b2_c3d4, (2, 3), 1, &records)).frames,
                [item(0, 60, b"ab")]
            );
        }
    }

    #[test]
    fn a_capture_of_version_1_is_refused() {
        let read = read(&pcap(0xa1b2_c3d4, (1, 2), 1, &[]));
        assert_eq!(read.damage.expect("an error").reason, Reason::Version(1, 2));
    }

    #[test]
    fn the_length_of_the_fcs_is_not_part_of_the_link_type() {
        let read = read(&pcap(0xa1b2_c3d4, (2, 4), 0x2400_0001, &[(RECORD, b"ab")]));
        assert_eq!(read.frames[0].link_type, 1);
    }

    #[test]
    fn a_file_without_packets_is_a_capture() {
        let read = read(&pcap(0xa1b2_c3d4, (2, 4), 1, &[]));
        assert_eq!((read.frames.len(), read.damage), (0, None));
    }

    #[test]
    fn a_packet_of_no_bytes_is_a_frame() {
        assert_eq!(
            read(&pcap(0xa1b2_c3d4, (2, 4), 1, &[([0, 0, 0, 60], b"")])).frames,
            [item(0, 60, b"")]
        );
    }

    #[test]
    fn an_impossible_length_is_an_error_at_its_record() {
        let records = [(RECORD, &b"ab"[..]), ([0, 0, 262_145, 262_145], b"")];
        let read = read(&pcap(0xa1b2_c3d4, (2, 4), 1, &records));
        let damage = read.damage.expect("an error");
        assert_eq!(
            (read.frames.len(), damage.frame, damage.offset),
            (1, 2, 24 + 18)
        );
        assert_eq!(
            damage.reason,
            Reason::PacketTooLong {
                bytes: 262_145,
                max: 262_144
            }
        );
    }

    #[test]
    fn a_truncated_record_is_an_error_after_the_frames_before_it() {
        let records = [(RECORD, &b"ab"[..]), ([0, 0, 40, 40], b"abc")];
        let read = read(&pcap(0xa1b2_c3d4, (2, 4), 1, &records));
        assert_eq!(read.frames.len(), 1);
        assert_eq!(
            read.damage.expect("an error").to_string(),
            "test: frame 2, byte 42: cut short: the record needs 56 bytes, 19 are left"
        );
    }
}
