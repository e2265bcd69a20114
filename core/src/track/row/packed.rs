//! # Packed
//! Rows of integers in few bytes: only the fields that differ from an expected row are written.

use crate::track::null::NULL;

/// Declares a [`super::Row`] that can be packed.
macro_rules! packed_row {
    (
        $(#[$about:meta])*
        $seen:vis struct $name:ident { $($(#[$means:meta])* $field_seen:vis $field:ident: $kind:ident,)* }
    ) => {
        $crate::track::row::row! {
            $(#[$about])*
            $seen struct $name { $($(#[$means])* $field_seen $field: $kind,)* }
        }

        impl $name {
            /// Number of fields.
            pub const FIELDS: usize = [$(stringify!($field)),*].len();

            /// Appends the row to `bytes`, as its differences from `expected`; [`Self::unpack`] needs the same
            /// `expected`.
            pub fn pack(&self, expected: &Self, bytes: &mut Vec<u8>) {
                let mut packer = $crate::track::row::packed::Packer::<{ $name::FIELDS }>::new();
                let mut field = 0;
                $(
                    packer.add(field, self.$field as i64, expected.$field as i64);
                    field += 1;
                )*
                debug_assert_eq!(field, Self::FIELDS);
                packer.append_to(bytes);
            }

            /// Removes the next row from `bytes` and returns it; `expected` is the one that [`Self::pack`] was given.
            #[must_use]
            pub fn unpack(expected: &Self, bytes: &mut &[u8]) -> Self {
                let mut numbers = [$(expected.$field as i64),*];
                $crate::track::row::packed::unpack(&mut numbers, bytes);
                let [$($field),*] = numbers;
                Self { $($field: $field as $kind),* }
            }
        }
    };
}

pub(crate) use packed_row;

/// Largest number of fields in a row: the mask of differing fields is one word of 64 bits.
const MAX_FIELDS: usize = 64;

/// Encodes the difference between `field` and `expected` as a number that is small where the difference is; 0 encodes
/// [`NULL`].
fn encode_difference(field: i64, expected: i64) -> u64 {
    if field == NULL {
        return 0;
    }
    let difference = field.wrapping_sub(or_zero(expected));
    // Zigzag encoding: the lowest bit is the sign, so that small negative numbers become small numbers.
    ((difference << 1 ^ difference >> 63) as u64).wrapping_add(1)
}

/// Returns the field that [`encode_difference`] encoded.
fn decode_difference(encoded: u64, expected: i64) -> i64 {
    if encoded == 0 {
        return NULL;
    }
    let code = encoded.wrapping_sub(1);
    or_zero(expected).wrapping_add((code >> 1) as i64 ^ -((code & 1) as i64))
}

/// Returns 0 for [`NULL`]: differences from an absent field are counted from 0.
fn or_zero(expected: i64) -> i64 {
    if expected == NULL { 0 } else { expected }
}

/// Writes a number of variable length and returns its length in bytes: one for 7 bits, two for 14 and so on. The number
/// of zero bits that end the first byte is the number of bytes that follow. A first byte of 0 is followed by eight
/// bytes of plain number.
fn write_varint(number: u64, out: &mut [u8; 9]) -> usize {
    let bits = 64 - (number | 1).leading_zeros();
    let length = (9 * bits as usize + 64) / 64; // a byte for seven bits: 9 / 64 is a little less than 1 / 7
    if length > 8 {
        out[0] = 0;
        out[1..].copy_from_slice(&number.to_le_bytes());
        return 9;
    }
    let word = (number << 1 | 1) << (length - 1);
    out[..8].copy_from_slice(&word.to_le_bytes());
    length
}

/// Appends a number as [`write_varint`] writes it.
pub(crate) fn append_varint(number: u64, bytes: &mut Vec<u8>) {
    let mut out = [0; 9];
    let length = write_varint(number, &mut out);
    bytes.extend_from_slice(&out[..length]);
}

/// Removes the next number of [`write_varint`] from `bytes` and returns it; 0 where `bytes` is empty.
pub(crate) fn read_varint(bytes: &mut &[u8]) -> u64 {
    let Some(first) = bytes.first() else {
        return 0;
    };
    let length = first.trailing_zeros() as usize + 1;
    if length > 8 {
        *bytes = &bytes[1..];
        return read_word(bytes, 8);
    }
    match bytes.first_chunk() {
        // Usual case: eight bytes are left, so one word is read and the bytes after the number are shifted out.
        Some(eight) => {
            *bytes = &bytes[length..];
            let behind = 64 - 8 * length;
            u64::from_le_bytes(*eight) << behind >> (behind + length)
        }
        None => read_word(bytes, length) >> length,
    }
}

/// Removes the next `length` bytes and returns them as a little-endian number; missing bytes count as 0.
fn read_word(bytes: &mut &[u8], length: usize) -> u64 {
    let (here, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    let mut word = [0; 8];
    word[..here.len()].copy_from_slice(here);
    u64::from_le_bytes(word)
}

/// A row of so many fields while it is packed. It is assembled on the stack, so that its bytes are appended at once.
pub(crate) struct Packer<const FIELDS: usize> {
    /// The differing fields, one after the other.
    packed: [u8; 9 * MAX_FIELDS],
    /// Number of bytes of `packed` in use.
    length: usize,
    /// Mask of differing fields.
    differ: u64,
}

impl<const FIELDS: usize> Packer<FIELDS> {
    /// Begins a row.
    pub(crate) fn new() -> Self {
        const { assert!(FIELDS <= MAX_FIELDS) };
        Self {
            packed: [0; 9 * MAX_FIELDS],
            length: 0,
            differ: 0,
        }
    }

    /// Adds the field with index `at`; fields are added in their order.
    #[inline(always)] // only a comparison where the field is as expected, as most are
    pub(crate) fn add(&mut self, at: usize, field: i64, expected: i64) {
        if field != expected {
            self.write(1 << at, field, expected);
        }
    }

    /// Writes a field that differs from the expected one; `bit` is its bit of the mask.
    #[inline(never)]
    fn write(&mut self, bit: u64, field: i64, expected: i64) {
        self.differ |= bit;
        if let Some(out) = self.packed[self.length..].first_chunk_mut() {
            self.length += write_varint(encode_difference(field, expected), out);
        }
    }

    /// Appends the row to `bytes`: the mask, then the differing fields.
    pub(crate) fn append_to(&self, bytes: &mut Vec<u8>) {
        append_varint(self.differ, bytes);
        bytes.extend_from_slice(&self.packed[..self.length]);
    }
}

/// Removes the next row from `bytes`. `row` holds the expected row before and the packed one afterwards.
pub(crate) fn unpack<const N: usize>(row: &mut [i64; N], bytes: &mut &[u8]) {
    let mut differ = read_varint(bytes);
    while differ != 0 {
        let at = differ.trailing_zeros() as usize;
        differ &= differ - 1;
        if let Some(field) = row.get_mut(at) {
            *field = decode_difference(read_varint(bytes), *field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pack<const N: usize>(row: &[i64; N], expected: &[i64; N], bytes: &mut Vec<u8>) {
        let mut packer = Packer::<N>::new();
        for (at, (&field, &expected)) in row.iter().zip(expected).enumerate() {
            packer.add(at, field, expected);
        }
        packer.append_to(bytes);
    }

    /// Values of fields: absent, small, or any number that a clock or counter can reach.
    fn field() -> impl Strategy<Value = i64> {
        prop_oneof![Just(NULL), -3..4i64, -i64::MAX / 4..i64::MAX / 2]
    }

    proptest! {
        #[test]
        fn unpacking_restores_packed_rows(rows in prop::collection::vec(prop::collection::vec(field(), 61), 1..5)) {
            let mut bytes = Vec::new();
            let rows: Vec<[i64; 61]> = rows.into_iter().map(|row| row.try_into().expect("as many as asked for")).collect();
            let first = [0; 61];
            let before = std::iter::once(&first).chain(&rows);
            for (row, before) in rows.iter().zip(before.clone()) {
                pack(row, before, &mut bytes);
            }
            let mut left = &bytes[..];
            for (row, before) in rows.iter().zip(before) {
                let mut unpacked = *before;
                unpack(&mut unpacked, &mut left);
                prop_assert_eq!(&unpacked, row);
            }
            prop_assert!(left.is_empty());
        }
    }

    #[test]
    fn an_expected_row_takes_one_byte() {
        let mut bytes = Vec::new();
        pack(&[5; 16], &[5; 16], &mut bytes);
        assert_eq!(bytes.len(), 1);
    }
}
