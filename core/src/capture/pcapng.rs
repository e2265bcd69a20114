//! # Pcapng
//! Reads the block format, <https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/>; section numbers below are
//! those of this draft.
//!
//! Where the draft leaves a choice, this module follows Wireshark 4.0. A block length that is no multiple of 4 is
//! rounded up. An option that runs over the end of its block is damage. The length of a section is ignored, since its
//! blocks can be read without it.
//!
//! Only packets are frames, as in capinfos. tshark 4.0 also numbers custom blocks. In the rare file that has them, its
//! `frame.number` is larger than the number here.

use std::io::Read;
use std::ops::Range;

use super::buffer::Window;
use super::bytes::ByteOrder;
use super::clock::Clock;
use super::error::Reason;
use super::frame::{Record, max_captured};
use super::info::{CaptureInfo, Interface};
use super::options::{Field, Options};

/// Block types (section 11.1).
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;

/// Size of a block's type and length, before its body (section 3.1).
pub(super) const HEAD_BYTES: usize = 8;
/// Size of the block's second length, after its body.
pub(super) const TAIL_BYTES: usize = 4;
/// Offset of a section header's options (section 4.1).
const SECTION_OPTIONS_AT: usize = HEAD_BYTES + 16;
/// Maximum size of a block: the largest packet, with room for its options. Wireshark has the same bound.
const MAX_BLOCK_BYTES: u32 = (128 << 20) + (128 << 10) + 32;
/// Maximum number of interfaces of all sections, as many as the obsolete packet block can number. An interface takes
/// ten times its bytes in memory.
const MAX_INTERFACES: usize = 1 << 16;
/// Value for an unknown number of drops in the obsolete packet block (appendix A).
const DROPS_UNKNOWN: u16 = 0xffff;

/// Reader of a pcapng file, with the state of the current section.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<SectionInterface>,
    /// Index in [`CaptureInfo::interfaces`] of the section's first interface.
    first_interface: usize,
    /// The first section header, which was read on opening but is not consumed yet.
    first_header: Option<Block>,
}

/// A block that was read and consumed.
pub(super) struct TakenBlock {
    /// Place of the block in the window.
    pub place: Range<usize>,
    /// Offset of the options in the block; `None` for a block that gets no comment.
    pub options_at: Option<usize>,
    pub is_packet: bool,
}

/// Fields of an interface that are needed to decode its packets.
struct SectionInterface {
    link_type: u32,
    snaplen: u32,
    max_captured: u32,
    clock: Clock,
}

/// A complete block in the window.
struct Block {
    kind: u32,
    stated_length: u32,
    length: usize,
}

impl Block {
    fn too_short(&self) -> Reason {
        Reason::BlockLength {
            kind: self.kind,
            length: self.stated_length,
        }
    }
}

/// Fields of an enhanced packet block or of an obsolete packet block.
struct Packet {
    interface: u32,
    ticks: u64,
    captured: u32,
    wire_len: u32,
}

impl Pcapng {
    /// Reads the first section header; `None` if the magic number is not pcapng's.
    pub fn open<R: Read>(
        magic: [u8; 4],
        window: &mut Window<R>,
        info: &mut CaptureInfo,
    ) -> Result<Option<Self>, Reason> {
        if u32::from_le_bytes(magic) != SECTION_HEADER {
            return Ok(None);
        }
        let mut pcapng = Pcapng {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            first_interface: 0,
            first_header: None,
        };
        if let Some(block) = pcapng.block(window)? {
            pcapng.section_header(&block, body(window, &block), info)?;
            pcapng.first_header = Some(block);
        }
        Ok(Some(pcapng))
    }

    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the next packet; `None` at the end. On an error its block is not consumed.
    #[inline]
    pub fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        info: &mut CaptureInfo,
    ) -> Result<Option<Record>, Reason> {
        if let Some(header) = self.first_header.take() {
            window.take(header.length);
        }
        while let Some(block) = self.block(window)? {
            let packet = self.read(&block, body(window, &block), info)?;
            let place = window.take(block.length);
            if let Some(mut record) = packet {
                let body_at = place.start + HEAD_BYTES;
                record.data = body_at + record.data.start..body_at + record.data.end;
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Returns the next block of any type; `None` at the end. On an error the block is not consumed.
    pub fn next_block<R: Read>(
        &mut self,
        window: &mut Window<R>,
        info: &mut CaptureInfo,
    ) -> Result<Option<TakenBlock>, Reason> {
        let (block, packet) = match self.first_header.take() {
            Some(header) => (header, None),
            None => {
                let Some(block) = self.block(window)? else {
                    return Ok(None);
                };
                let packet = self.read(&block, body(window, &block), info)?;
                (block, packet)
            }
        };
        let place = window.take(block.length);
        let options_at = match (block.kind, &packet) {
            (SECTION_HEADER, _) => Some(SECTION_OPTIONS_AT),
            (ENHANCED_PACKET | PACKET, Some(record)) => {
                Some(HEAD_BYTES + record.data.end.next_multiple_of(4))
            }
            _ => None,
        };
        Ok(Some(TakenBlock {
            place,
            options_at,
            is_packet: packet.is_some(),
        }))
    }

    /// Reads a block; returns its packet, whose `data` is a place in the body. Other information goes to `info`.
    #[inline]
    fn read(
        &mut self,
        block: &Block,
        body: &[u8],
        info: &mut CaptureInfo,
    ) -> Result<Option<Record>, Reason> {
        match block.kind {
            ENHANCED_PACKET => self.enhanced_packet(block, body, info).map(Some),
            SIMPLE_PACKET => self.simple_packet(block, body).map(Some),
            PACKET => self.packet(block, body, info).map(Some),
            SECTION_HEADER => self.section_header(block, body, info).map(|()| None),
            INTERFACE_DESCRIPTION => self.interface_description(block, body, info).map(|()| None),
            INTERFACE_STATISTICS => self.interface_statistics(block, body, info).map(|()| None),
            // Name resolution, decryption secrets, custom blocks and unknown types.
            _ => Ok(None),
        }
    }

    /// Reads the next block into the window and checks its lengths; `None` at the end.
    #[inline]
    fn block<R: Read>(&mut self, window: &mut Window<R>) -> Result<Option<Block>, Reason> {
        const MIN_BYTES: usize = HEAD_BYTES + TAIL_BYTES;
        let cut = |needed, window: &Window<R>| Reason::CutShort {
            needed,
            left: window.bytes().len(),
        };
        if !window.fill(MIN_BYTES)? {
            return if window.bytes().is_empty() {
                Ok(None)
            } else {
                Err(cut(MIN_BYTES, window))
            };
        }
        let head = window.bytes();
        let kind = self.order.u32(head, 0);
        if kind == SECTION_HEADER {
            self.order = match [head[8], head[9], head[10], head[11]] {
                [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
                other => return Err(Reason::ByteOrderMagic(other)),
            };
        }
        let stated_length = self.order.u32(head, 4);
        if !(MIN_BYTES as u32..=MAX_BLOCK_BYTES).contains(&stated_length) {
            return Err(Reason::BlockLength {
                kind,
                length: stated_length,
            });
        }
        let length = (stated_length as usize).next_multiple_of(4);
        if !window.fill(length)? {
            return Err(cut(length, window));
        }
        let repeated = self.order.u32(window.bytes(), length - TAIL_BYTES);
        if repeated != stated_length {
            return Err(Reason::BlockLengths(stated_length, repeated));
        }
        Ok(Some(Block {
            kind,
            stated_length,
            length,
        }))
    }

    /// Reads a section header block (section 4.1).
    fn section_header(
        &mut self,
        block: &Block,
        body: &[u8],
        info: &mut CaptureInfo,
    ) -> Result<(), Reason> {
        const FIXED: usize = 16;
        if body.len() < FIXED {
            return Err(block.too_short());
        }
        let version = (self.order.u16(body, 4), self.order.u16(body, 6));
        // Some programs write version 1.0 as 1.2.
        if !matches!(version, (1, 0 | 2)) {
            return Err(Reason::Version(version.0, version.1));
        }
        for option in Options::new(self.order, &body[FIXED..]) {
            match option? {
                Field { code: 1, value } => {
                    let comment = info.text(value);
                    info.comments.extend(comment);
                }
                Field { code: 2, value } => info.hardware = info.text(value),
                Field { code: 3, value } => info.os = info.text(value),
                Field { code: 4, value } => info.application = info.text(value),
                _ => {}
            }
        }
        let format = format!("pcapng ({})", self.order.name());
        if info.sections == 0 {
            info.format = format;
            info.version = version;
        } else if info.format != format {
            "pcapng (mixed byte order)".clone_into(&mut info.format);
        }
        info.sections = info.sections.saturating_add(1);
        self.first_interface = info.interfaces.len();
        self.interfaces.clear();
        Ok(())
    }

    /// Reads an interface description block (section 4.2).
    fn interface_description(
        &mut self,
        block: &Block,
        body: &[u8],
        info: &mut CaptureInfo,
    ) -> Result<(), Reason> {
        const FIXED: usize = 8;
        if body.len() < FIXED {
            return Err(block.too_short());
        }
        if info.interfaces.len() == MAX_INTERFACES {
            return Err(Reason::Interfaces(MAX_INTERFACES));
        }
        let link_type = u32::from(self.order.u16(body, 0));
        let snaplen = self.order.u32(body, 4);
        let mut interface = Interface {
            link_type,
            snaplen: (snaplen != 0).then_some(snaplen),
            ..Interface::default()
        };
        let (mut resolution, mut offset_s) = (Clock::default().resolution, 0);
        for option in Options::new(self.order, &body[FIXED..]) {
            let Field { code, value } = option?;
            match code {
                1 => {
                    let comment = info.text(value);
                    info.comments.extend(comment);
                }
                2 => interface.name = info.text(value),
                3 => interface.description = info.text(value),
                9 => {
                    if let [value] = value {
                        resolution = *value;
                    }
                }
                // The first byte is 0 for a filter in text form.
                11 => {
                    if let [0, filter @ ..] = value {
                        interface.filter = info.text(filter);
                    }
                }
                12 => interface.os = info.text(value),
                14 => offset_s = self.number(value).map_or(0, u64::cast_signed),
                15 => interface.hardware = info.text(value),
                _ => {}
            }
        }
        let clock = Clock::new(resolution, offset_s);
        interface.resolution = resolution;
        interface.time_unit = clock.to_string();
        interface.time_offset_s = offset_s;
        info.interfaces.push(interface);
        self.interfaces.push(SectionInterface {
            link_type,
            snaplen,
            max_captured: max_captured(link_type),
            clock,
        });
        Ok(())
    }

    /// Reads an interface statistics block (section 4.6). Statistics of an interface that is not described are ignored.
    fn interface_statistics(
        &self,
        block: &Block,
        body: &[u8],
        info: &mut CaptureInfo,
    ) -> Result<(), Reason> {
        const FIXED: usize = 12;
        if body.len() < FIXED {
            return Err(block.too_short());
        }
        let mut drops = None;
        for option in Options::new(self.order, &body[FIXED..]) {
            let Field { code, value } = option?;
            // isb_ifdrop, isb_osdrop
            if let (5 | 7, Some(count)) = (code, self.number(value)) {
                drops = Some(drops.unwrap_or(0u64).saturating_add(count));
            }
        }
        if let Some(interface) = self.interface_mut(self.order.u32(body, 0), info) {
            interface.drops_by_statistics = drops.or(interface.drops_by_statistics);
        }
        Ok(())
    }

    /// Reads an enhanced packet block (section 4.3).
    #[inline]
    fn enhanced_packet(
        &self,
        block: &Block,
        body: &[u8],
        info: &mut CaptureInfo,
    ) -> Result<Record, Reason> {
        const FIXED: usize = 20;
        if body.len() < FIXED {
            return Err(block.too_short());
        }
        let packet = Packet {
            interface: self.order.u32(body, 0),
            ticks: self.ticks(body),
            captured: self.order.u32(body, 12),
            wire_len: self.order.u32(body, 16),
        };
        let record = self.record(&packet, FIXED, body)?;
        let options_at = record.data.end.next_multiple_of(4);
        if options_at < body.len() {
            for option in Options::new(self.order, &body[options_at..]) {
                let Field { code, value } = option?;
                // epb_dropcount
                if let (4, Some(count)) = (code, self.number(value)) {
                    self.add_drops(packet.interface, count, info);
                }
            }
        }
        Ok(record)
    }

    /// Reads an obsolete packet block (appendix A).
    fn packet(&self, block: &Block, body: &[u8], info: &mut CaptureInfo) -> Result<Record, Reason> {
        const FIXED: usize = 20;
        if body.len() < FIXED {
            return Err(block.too_short());
        }
        let packet = Packet {
            interface: u32::from(self.order.u16(body, 0)),
            ticks: self.ticks(body),
            captured: self.order.u32(body, 12),
            wire_len: self.order.u32(body, 16),
        };
        let drops = self.order.u16(body, 2);
        let record = self.record(&packet, FIXED, body)?;
        if drops != DROPS_UNKNOWN {
            self.add_drops(packet.interface, u64::from(drops), info);
        }
        Ok(record)
    }

    /// Reads a simple packet block (section 4.4). It belongs to the section's first interface, and has neither a time
    /// nor a captured length.
    fn simple_packet(&self, block: &Block, body: &[u8]) -> Result<Record, Reason> {
        const FIXED: usize = 4;
        if body.len() < FIXED {
            return Err(block.too_short());
        }
        let interface = self.interfaces.first().ok_or(Reason::UnknownInterface(0))?;
        let wire_len = self.order.u32(body, 0);
        let captured = if interface.snaplen == 0 {
            wire_len
        } else {
            wire_len.min(interface.snaplen)
        };
        let data = interface.place(captured, FIXED, body)?;
        Ok(Record {
            time_ns: None,
            link_type: interface.link_type,
            wire_len,
            data,
        })
    }

    fn record(&self, packet: &Packet, data_at: usize, body: &[u8]) -> Result<Record, Reason> {
        let interface = self
            .interfaces
            .get(packet.interface as usize)
            .ok_or(Reason::UnknownInterface(packet.interface))?;
        Ok(Record {
            time_ns: interface.clock.ns(packet.ticks),
            link_type: interface.link_type,
            wire_len: packet.wire_len,
            data: interface.place(packet.captured, data_at, body)?,
        })
    }

    /// Reads the timestamp of an enhanced or obsolete packet block, whose upper 32 bits come first.
    fn ticks(&self, body: &[u8]) -> u64 {
        u64::from(self.order.u32(body, 4)) << 32 | u64::from(self.order.u32(body, 8))
    }

    /// Reads an option's 64-bit number; `None` if the value has another length.
    fn number(&self, value: &[u8]) -> Option<u64> {
        value.try_into().ok().map(|bytes| self.order.u64(bytes))
    }

    fn add_drops(&self, interface: u32, count: u64, info: &mut CaptureInfo) {
        if let Some(interface) = self.interface_mut(interface, info) {
            let sum = interface
                .drops_by_packets
                .unwrap_or(0)
                .saturating_add(count);
            interface.drops_by_packets = Some(sum);
        }
    }

    /// Returns the description in `info` of an interface of this section.
    fn interface_mut<'a>(
        &self,
        interface: u32,
        info: &'a mut CaptureInfo,
    ) -> Option<&'a mut Interface> {
        info.interfaces
            .get_mut(self.first_interface..)?
            .get_mut(interface as usize)
    }
}

impl SectionInterface {
    /// Returns the place of a packet's bytes in the body of its block.
    fn place(&self, captured: u32, at: usize, body: &[u8]) -> Result<Range<usize>, Reason> {
        if captured > self.max_captured {
            return Err(Reason::PacketTooLong {
                bytes: captured,
                max: self.max_captured,
            });
        }
        let room = body.len() - at;
        if captured as usize > room {
            return Err(Reason::PacketBeyondBlock {
                bytes: captured,
                room,
            });
        }
        Ok(at..at + captured as usize)
    }
}

fn body<'a, R: Read>(window: &'a Window<R>, block: &Block) -> &'a [u8] {
    &window.bytes()[HEAD_BYTES..block.length - TAIL_BYTES]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Contents, Item, block, little, option, read};
    use super::*;

    fn section() -> Vec<u8> {
        block(
            SECTION_HEADER,
            &little(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], b""),
        )
    }

    fn interface(link_type: u32, snaplen: u32, options: &[u8]) -> Vec<u8> {
        block(
            INTERFACE_DESCRIPTION,
            &little(&[link_type, snaplen], options),
        )
    }

    fn enhanced(interface: u32, ticks: u32, wire_len: u32, data: &[u8], options: &[u8]) -> Vec<u8> {
        let mut body = little(&[interface, 0, ticks, data.len() as u32, wire_len], data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        block(ENHANCED_PACKET, &body)
    }

    fn statistics(interface: u32, options: &[u8]) -> Vec<u8> {
        block(INTERFACE_STATISTICS, &little(&[interface, 0, 0], options))
    }

    /// Reads a section with an Ethernet interface and these blocks.
    fn ethernet(blocks: &[Vec<u8>]) -> Contents {
        read(&[section(), interface(1, 0, b""), blocks.concat()].concat())
    }

    fn item(number: u64, time_ns: Option<i64>, link_type: u32, wire_len: u32, data: &[u8]) -> Item {
        Item {
            number,
            time_ns,
            link_type,
            wire_len,
            data: data.to_vec(),
        }
    }

    fn reason(contents: &Contents) -> &Reason {
        &contents.damage.as_ref().expect("an error").reason
    }

    #[test]
    fn an_enhanced_packet_has_time_lengths_and_interface() {
        let contents = ethernet(&[interface(113, 0, b""), enhanced(1, 7, 60, b"abc", b"")]);
        assert_eq!(contents.frames, [item(1, Some(7000), 113, 60, b"abc")]);
    }

    #[test]
    fn a_simple_packet_has_no_time_and_is_cut_by_the_snaplen() {
        let blocks = [
            section(),
            interface(1, 3, b""),
            block(SIMPLE_PACKET, &little(&[60], b"abc\0")),
            block(SIMPLE_PACKET, &little(&[2], b"ab\0\0")),
        ];
        let frames = read(&blocks.concat()).frames;
        assert_eq!(
            frames,
            [item(1, None, 1, 60, b"abc"), item(2, None, 1, 2, b"ab")]
        );
    }

    #[test]
    fn a_simple_packet_without_snaplen_is_whole() {
        let contents = ethernet(&[block(SIMPLE_PACKET, &little(&[3], b"abc\0"))]);
        assert_eq!(contents.frames, [item(1, None, 1, 3, b"abc")]);
    }

    #[test]
    fn the_obsolete_packet_block_has_time_and_drops() {
        let packet = |drops: u32| block(PACKET, &little(&[drops << 16, 0, 7, 4, 60], b"abcd"));
        let contents = ethernet(&[packet(3), packet(0xffff), packet(2)]);
        assert_eq!(contents.frames[0], item(1, Some(7000), 1, 60, b"abcd"));
        assert_eq!(contents.info.drops(), Some(5));
    }

    #[test]
    fn each_section_has_its_byte_order_and_interfaces() {
        let big_endian =
            b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x1c\
            \0\0\0\x01\0\0\0\x14\0\x65\0\0\0\0\0\0\0\0\0\x14\
            \0\0\0\x06\0\0\0\x24\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0\x02\0\0\0\x02ab\0\0\0\0\0\x24";
        let contents = ethernet(&[enhanced(0, 7, 1, b"a", b""), big_endian.to_vec()]);
        assert_eq!(
            contents.frames,
            [
                item(1, Some(7000), 1, 1, b"a"),
                item(2, Some(9000), 101, 2, b"ab")
            ]
        );
        assert_eq!(
            (contents.info.sections, contents.info.interfaces.len()),
            (2, 2)
        );
        assert_eq!(contents.info.format, "pcapng (mixed byte order)");
    }

    #[test]
    fn the_options_of_an_interface_are_read() {
        let options = [
            option(1, b"a comment"),
            option(2, b"eth0"),
            option(9, &[9]),
            option(11, b"\0tcp port 80"),
            option(14, &(-1i64).to_le_bytes()),
            option(0, b""),
        ];
        let blocks = [
            section(),
            interface(1, 96, &options.concat()),
            enhanced(0, 1_000_000_005, 1, b"a", b""),
        ];
        let contents = read(&blocks.concat());
        assert_eq!(contents.frames[0].time_ns, Some(5));
        let expected = Interface {
            link_type: 1,
            snaplen: Some(96),
            resolution: 9,
            time_unit: "10^-9 s".to_owned(),
            time_offset_s: -1,
            name: Some("eth0".to_owned()),
            filter: Some("tcp port 80".to_owned()),
            ..Interface::default()
        };
        assert_eq!(contents.info.interfaces, [expected]);
        assert_eq!(contents.info.comments, ["a comment"]);
    }

    #[test]
    fn the_options_of_a_section_are_read() {
        let options = [
            option(1, b"lab"),
            option(2, b"x86"),
            option(3, b"Linux"),
            option(4, b"dumpcap"),
        ]
        .concat();
        let bytes = block(
            SECTION_HEADER,
            &little(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], &options),
        );
        let info = read(&bytes).info;
        assert_eq!(info.comments, ["lab"]);
        assert_eq!(info.hardware.as_deref(), Some("x86"));
        assert_eq!(info.os.as_deref(), Some("Linux"));
        assert_eq!(info.application.as_deref(), Some("dumpcap"));
    }

    #[test]
    fn other_blocks_are_skipped() {
        let others = [4, 0x0a, 0xbad, 0x4000_0bad, 0x77].map(|kind| block(kind, b"whatever"));
        let contents = ethernet(&[others.concat(), enhanced(0, 7, 1, b"a", b"")]);
        assert_eq!((contents.frames.len(), contents.damage), (1, None));
    }

    #[test]
    fn the_latest_statistics_count() {
        let drops = |interface: u64, system: u64| {
            statistics(
                0,
                &[
                    option(5, &interface.to_le_bytes()),
                    option(7, &system.to_le_bytes()),
                ]
                .concat(),
            )
        };
        assert_eq!(
            ethernet(&[drops(1, 2), drops(10, 3)]).info.drops(),
            Some(13)
        );
    }

    #[test]
    fn drops_of_packets_and_of_statistics_are_not_added() {
        let packet = enhanced(0, 7, 1, b"a", &option(4, &3u64.to_le_bytes()));
        let statistics = statistics(0, &option(5, &5u64.to_le_bytes()));
        assert_eq!(
            ethernet(&[packet.clone(), packet.clone()]).info.drops(),
            Some(6)
        );
        assert_eq!(
            ethernet(&[packet.clone(), statistics, packet]).info.drops(),
            Some(6)
        );
    }

    #[test]
    fn without_a_report_drops_are_unknown() {
        let contents = ethernet(&[
            statistics(0, b""),
            statistics(9, &option(5, &5u64.to_le_bytes())),
        ]);
        assert_eq!((contents.info.drops(), contents.damage), (None, None));
    }

    #[test]
    fn a_packet_of_an_unknown_interface_is_damage() {
        assert_eq!(
            reason(&ethernet(&[enhanced(1, 0, 1, b"a", b"")])),
            &Reason::UnknownInterface(1)
        );
        let simple = [section(), block(SIMPLE_PACKET, &little(&[0], b""))].concat();
        assert_eq!(reason(&read(&simple)), &Reason::UnknownInterface(0));
    }

    #[test]
    fn a_packet_longer_than_its_block_is_damage() {
        let packet = block(ENHANCED_PACKET, &little(&[0, 0, 0, 9, 9], b"abcdefgh"));
        assert_eq!(
            reason(&ethernet(&[packet])),
            &Reason::PacketBeyondBlock { bytes: 9, room: 8 }
        );
    }

    #[test]
    fn the_two_lengths_of_a_block_must_agree() {
        let mut bytes = enhanced(0, 7, 1, b"a", b"");
        *bytes.last_mut().expect("a byte") = 1;
        let contents = ethernet(&[enhanced(0, 7, 1, b"a", b""), bytes]);
        assert_eq!(reason(&contents), &Reason::BlockLengths(36, 36 | 1 << 24));
        assert_eq!(contents.frames.len(), 1);
    }

    #[test]
    fn a_block_length_is_rounded_up_to_a_multiple_of_four() {
        let mut packet = little(&[ENHANCED_PACKET, 33, 0, 0, 7, 1, 1], b"a\0\0\0");
        packet.extend(33u32.to_le_bytes());
        let contents = ethernet(&[packet.clone(), packet]);
        assert_eq!((contents.frames.len(), contents.damage), (2, None));
    }

    #[test]
    fn an_impossible_block_length_is_damage() {
        for length in [0, 8, 0x7fff_ffff] {
            let contents = ethernet(&[little(&[0x77, length], b"abcdefgh")]);
            assert_eq!(
                reason(&contents),
                &Reason::BlockLength { kind: 0x77, length }
            );
        }
        for kind in [
            SECTION_HEADER,
            INTERFACE_DESCRIPTION,
            PACKET,
            INTERFACE_STATISTICS,
            ENHANCED_PACKET,
        ] {
            let contents = ethernet(&[block(kind, &0x1a2b_3c4du32.to_le_bytes())]);
            assert_eq!(reason(&contents), &Reason::BlockLength { kind, length: 16 });
        }
    }

    #[test]
    fn an_option_beyond_its_block_is_damage() {
        let contents = ethernet(&[enhanced(0, 7, 1, b"a", &[1, 0, 200, 0])]);
        assert_eq!(reason(&contents), &Reason::Options);
    }

    #[test]
    fn an_unknown_version_or_byte_order_is_refused() {
        let version = block(SECTION_HEADER, &little(&[0x1a2b_3c4d, 2, 0, 0], b""));
        assert_eq!(reason(&read(&version)), &Reason::Version(2, 0));
        let order = block(SECTION_HEADER, &[0; 16]);
        assert_eq!(reason(&ethernet(&[order])), &Reason::ByteOrderMagic([0; 4]));
    }
}
