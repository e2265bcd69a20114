//! # Bytes
//! Fixed-width fields in the byte order of the machine that wrote the capture.

/// Byte order of a file or section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// Reads and writes fields. A field must lie within `bytes`; callers check the length of the record first.
impl ByteOrder {
    pub fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        }
    }

    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = [bytes[at], bytes[at + 1]];
        match self {
            ByteOrder::Little => u16::from_le_bytes(field),
            ByteOrder::Big => u16::from_be_bytes(field),
        }
    }

    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = &bytes[at..at + 4];
        let field = [bytes[0], bytes[1], bytes[2], bytes[3]];
        match self {
            ByteOrder::Little => u32::from_le_bytes(field),
            ByteOrder::Big => u32::from_be_bytes(field),
        }
    }

    /// Reads the 64-bit number of a pcapng option.
    pub fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }

    pub fn bytes_of_u16(self, value: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    pub fn bytes_of_u32(self, value: u32) -> [u8; 4] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }
}
