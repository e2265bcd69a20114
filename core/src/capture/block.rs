//! # Block
//! Writes pcapng blocks: those of a pcapng file again, with or without another comment, and blocks with the contents of
//! a pcap file. Section numbers are those of draft-ietf-opsawg-pcapng.

use super::bytes::ByteOrder;
use super::frame::Frame;
use super::info::Interface;
use super::options::Options;
use super::pcapng::{
    ENHANCED_PACKET, HEAD_BYTES, INTERFACE_DESCRIPTION, SECTION_HEADER, TAIL_BYTES,
};

/// The option opt_comment (section 3.5.1).
const COMMENT: u16 = 1;
/// The option opt_endofopt (section 3.5.1).
const END: u16 = 0;

/// A block of a pcapng file, byte for byte.
pub struct Block<'a> {
    /// Number of the frame in the block; `None` for a block without a packet.
    pub frame: Option<u64>,
    pub(super) bytes: &'a [u8],
    pub(super) options_at: Option<usize>,
    pub(super) order: ByteOrder,
}

impl Block<'_> {
    /// Returns whether this is a section header block.
    #[must_use]
    pub fn is_section_header(&self) -> bool {
        self.bytes[..4] == SECTION_HEADER.to_le_bytes()
    }

    /// Appends the block to `out`, with `comment` after the comments it already has. Returns whether the comment was
    /// written, since not every kind of block can have one.
    pub fn write(&self, comment: Option<&str>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let list = comment.zip(self.options_at).and_then(|(comment, at)| {
            let options = &self.bytes[at..self.bytes.len() - TAIL_BYTES];
            Some((comment, at + options_bytes(self.order, options)?))
        });
        match list {
            None => out.extend(self.bytes),
            Some((comment, end)) => {
                out.extend(&self.bytes[..end]);
                write_comment(self.order, comment, out);
                close(self.order, start, out);
            }
        }
        if self.is_section_header() {
            // Comments may lengthen the section's blocks, so its length is written as unknown (section 4.1).
            out[start + HEAD_BYTES + 8..start + HEAD_BYTES + 16].fill(0xff);
        }
        list.is_some()
    }
}

/// Returns the number of bytes of the options in a list, without opt_endofopt; `None` if the list is damaged.
fn options_bytes(order: ByteOrder, list: &[u8]) -> Option<usize> {
    let mut bytes = 0;
    for option in Options::new(order, list) {
        bytes += 4 + option.ok()?.value.len().next_multiple_of(4);
    }
    Some(bytes.min(list.len()))
}

/// Writes a section header block, with or without a comment (section 4.1).
pub fn write_section(comment: Option<&str>, out: &mut Vec<u8>) {
    const BYTE_ORDER: u32 = 0x1a2b_3c4d;
    const VERSION_1_0: u32 = 1;
    let start = out.len();
    open(SECTION_HEADER, &[BYTE_ORDER, VERSION_1_0], out);
    out.extend([0xff; 8]);
    finish(comment, start, out);
}

/// Writes an interface description block for a pcap file (section 4.2).
pub fn write_interface(interface: &Interface, out: &mut Vec<u8>) {
    const RESOLUTION: u16 = 9;
    let start = out.len();
    let snaplen = interface.snaplen.unwrap_or(0);
    // The field's upper 16 bits are reserved, and a pcap file's link type has 16 bits.
    open(INTERFACE_DESCRIPTION, &[interface.link_type, snaplen], out);
    write_option(ByteOrder::Little, RESOLUTION, &[interface.resolution], out);
    close(ByteOrder::Little, start, out);
}

/// Writes an enhanced packet block for a frame of a pcap file. `resolution` is the negative exponent of the timestamps'
/// unit, such as 6 for microseconds (section 4.3).
pub fn write_packet(frame: &Frame<'_>, resolution: u8, comment: Option<&str>, out: &mut Vec<u8>) {
    let start = out.len();
    let tick_ns = 10_u64.pow(9_u32.saturating_sub(u32::from(resolution)));
    let ticks = frame.time_ns.unwrap_or(0).cast_unsigned() / tick_ns;
    let fields = [
        0,
        (ticks >> 32) as u32,
        ticks as u32,
        frame.data.len() as u32,
        frame.wire_len,
    ];
    open(ENHANCED_PACKET, &fields, out);
    out.extend(frame.data);
    pad(start, out);
    finish(comment, start, out);
}

/// Writes the head of a little-endian block and its first fields.
fn open(kind: u32, fields: &[u32], out: &mut Vec<u8>) {
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    out.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
}

/// Ends a little-endian block, with a comment or without options.
fn finish(comment: Option<&str>, start: usize, out: &mut Vec<u8>) {
    match comment {
        None => write_lengths(ByteOrder::Little, start, out),
        Some(comment) => {
            write_comment(ByteOrder::Little, comment, out);
            close(ByteOrder::Little, start, out);
        }
    }
}

/// Ends the options and the block that begins at `start`.
fn close(order: ByteOrder, start: usize, out: &mut Vec<u8>) {
    write_option(order, END, &[], out);
    write_lengths(order, start, out);
}

fn write_lengths(order: ByteOrder, start: usize, out: &mut Vec<u8>) {
    let length = order.bytes_of_u32((out.len() + TAIL_BYTES - start) as u32);
    out.extend(length);
    out[start + 4..start + HEAD_BYTES].copy_from_slice(&length);
}

/// Writes a comment, truncated to the maximum length of an option.
fn write_comment(order: ByteOrder, comment: &str, out: &mut Vec<u8>) {
    let mut end = comment.len().min(usize::from(u16::MAX));
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    write_option(order, COMMENT, &comment.as_bytes()[..end], out);
}

fn write_option(order: ByteOrder, code: u16, value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(order.bytes_of_u16(code));
    out.extend(order.bytes_of_u16(value.len() as u16));
    out.extend(value);
    pad(start, out);
}

/// Pads the bytes from `start` on with zeros to a multiple of 4.
fn pad(start: usize, out: &mut Vec<u8>) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{block, file, little, option, read};
    use super::super::{Piece, Reader};
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    /// Returns a capture written again, with this comment on every frame.
    fn rewritten(bytes: &[u8], comment: Option<&str>) -> Vec<u8> {
        let mut out = Vec::new();
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let Ok(mut reader) = Reader::open(input, "test") else {
            return out;
        };
        let resolution = reader.pcap_interface().map_or(6, |one| one.resolution);
        if let Some(interface) = reader.pcap_interface() {
            write_section(None, &mut out);
            write_interface(interface, &mut out);
        }
        while let Ok(Some(piece)) = reader.next_piece() {
            match piece {
                Piece::Frame(frame) => write_packet(&frame, resolution, comment, &mut out),
                Piece::Block(block) => {
                    block.write(comment.filter(|_| block.frame.is_some()), &mut out);
                }
            }
        }
        out
    }

    fn section() -> Vec<u8> {
        block(
            SECTION_HEADER,
            &little(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], b""),
        )
    }

    fn interface() -> Vec<u8> {
        block(INTERFACE_DESCRIPTION, &little(&[1, 0], b""))
    }

    fn enhanced(data: &[u8], options: &[u8]) -> Vec<u8> {
        let mut body = little(&[0, 0, 7, data.len() as u32, 60], data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        block(ENHANCED_PACKET, &body)
    }

    #[test]
    fn a_comment_is_added_after_existing_ones() {
        let end = option(END, b"");
        for mark in [&[][..], &end] {
            let before = [&option(2, &[0; 4]), &option(COMMENT, b"first"), mark].concat();
            let after = [
                &option(2, &[0; 4])[..],
                &option(1, b"first"),
                &option(1, b"new"),
                &end,
            ]
            .concat();
            let file = [section(), interface(), enhanced(b"abcde", &before)].concat();
            assert_eq!(
                rewritten(&file, Some("new")),
                [section(), interface(), enhanced(b"abcde", &after)].concat()
            );
        }
    }

    #[test]
    fn without_comments_a_pcapng_file_is_unchanged() {
        let custom = block(0xbad, b"whatever it is");
        let file = [
            section(),
            custom,
            interface(),
            enhanced(b"a", &option(COMMENT, b"b")),
        ]
        .concat();
        assert_eq!(rewritten(&file, None), file);
    }

    #[test]
    fn the_length_of_a_section_becomes_unknown() {
        let header = block(SECTION_HEADER, &little(&[0x1a2b_3c4d, 1, 52, 0], b""));
        let file = [header, interface(), enhanced(b"a", b"")].concat();
        assert_eq!(
            rewritten(&file, None),
            [section(), interface(), enhanced(b"a", b"")].concat()
        );
    }

    #[test]
    fn a_simple_packet_block_gets_no_comment() {
        let simple = block(3, &little(&[5], b"abcde"));
        let file = [section(), interface(), simple].concat();
        assert_eq!(rewritten(&file, Some("new")), file);
    }

    #[test]
    fn an_overlong_comment_is_truncated_between_characters() {
        let long = "é".repeat(40_000);
        let mut out = Vec::new();
        write_section(Some(&long), &mut out);
        let contents = read(&out);
        assert_eq!(contents.info.comments, ["é".repeat(32_767)]);
    }

    proptest! {
        #[test]
        fn a_pcap_file_keeps_frames_and_times(
            nanoseconds: bool,
            link_type: u16,
            records in prop::collection::vec(
                (any::<u32>(), 0..1_000_000_u32, prop::collection::vec(any::<u8>(), 0..70), 0..2000_u32),
                0..5,
            ),
            comment in prop::option::of(".{0,9}"),
        ) {
            let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            let mut bytes = file(magic, (2, 4), u32::from(link_type));
            for (seconds, fraction, data, more) in &records {
                let kept = data.len() as u32;
                bytes.extend(little(&[*seconds, *fraction, kept, kept + more], data));
            }
            let (before, after) = (read(&bytes), read(&rewritten(&bytes, comment.as_deref())));
            prop_assert_eq!(after.damage, None);
            prop_assert_eq!(after.frames, before.frames);
            let [before, after] = [&before.info.interfaces[0], &after.info.interfaces[0]];
            prop_assert_eq!(after, before);
        }

        #[test]
        fn hostile_blocks_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let file = [section(), interface(), enhanced(b"a", &bytes)].concat();
            let (before, after) = (read(&file), read(&rewritten(&file, Some("new"))));
            prop_assert_eq!(after.frames, before.frames);
        }
    }
}
