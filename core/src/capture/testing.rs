//! # Testing
//! Helpers for the tests of all formats.

use std::io::Cursor;

use super::{CaptureError, CaptureInfo, Reader};

/// A frame that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub number: u64,
    pub time_ns: Option<i64>,
    pub link_type: u32,
    pub wire_len: u32,
    pub data: Vec<u8>,
}

/// All results of reading a capture.
pub struct Contents {
    pub frames: Vec<Item>,
    pub damage: Option<CaptureError>,
    pub info: CaptureInfo,
    pub bytes_read: u64,
}

/// Reads a capture to its end, and checks that no frame follows the end.
pub fn read(bytes: &[u8]) -> Contents {
    contents(Reader::open(Box::new(Cursor::new(bytes.to_vec())), "test"))
}

/// Reads rows to their end, and checks that no frame follows the end.
pub fn read_rows(bytes: &[u8]) -> Contents {
    contents(Reader::open_rows(
        Box::new(Cursor::new(bytes.to_vec())),
        "test",
    ))
}

fn contents(opened: Result<Reader, CaptureError>) -> Contents {
    let mut frames = Vec::new();
    let mut damage = None;
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => {
            return Contents {
                frames,
                damage: Some(error),
                info: CaptureInfo::default(),
                bytes_read: 0,
            };
        }
    };
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push(Item {
                number: frame.number,
                time_ns: frame.time_ns,
                link_type: frame.link_type,
                wire_len: frame.wire_len,
                data: frame.data.to_vec(),
            }),
            Ok(None) => break,
            Err(error) => damage = Some(error),
        }
    }
    assert_eq!(reader.next_frame(), Ok(None));
    Contents {
        frames,
        damage,
        info: reader.info().clone(),
        bytes_read: reader.bytes_read(),
    }
}

/// Returns a little-endian pcap file header.
pub fn file(magic: u32, (major, minor): (u16, u16), link_type: u32) -> Vec<u8> {
    let mut bytes = magic.to_le_bytes().to_vec();
    bytes.extend(major.to_le_bytes());
    bytes.extend(minor.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(65535u32.to_le_bytes());
    bytes.extend(link_type.to_le_bytes());
    bytes
}

/// Returns little-endian fields followed by raw bytes.
pub fn little(fields: &[u32], rest: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = fields
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    bytes.extend(rest);
    bytes
}

/// Returns a little-endian pcapng block.
pub fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = body.len() as u32 + 12;
    let mut bytes = little(&[kind, length], &body);
    bytes.extend(length.to_le_bytes());
    bytes
}

/// Returns a little-endian pcapng option.
pub fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [code.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
