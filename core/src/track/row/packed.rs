//! # Packed
//! Rows of integers in few bytes: only what differs from what was expected is written.

use crate::track::null::NULL;

/// Declares a [`super::Row`] that can be packed.
macro_rules! packed_row {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$means:meta])* pub $field:ident: $kind:ident,)* }
    ) => {
        $crate::track::row::row! {
            $(#[$about])*
            pub struct $name { $($(#[$means])* pub $field: $kind,)* }
        }

        impl $name {
            /// How many fields it has.
            pub const FIELDS: usize = [$(stringify!($field)),*].len();

            /// Appends the row to `bytes`, of which `expected` is known to whoever reads it.
            pub fn pack(&self, expected: &Self, bytes: &mut Vec<u8>) {
                let numbers = |row: &Self| [$(row.$field as i64),*];
                $crate::track::row::packed::pack(&numbers(self), &numbers(expected), bytes);
            }

            /// Takes the next row off `bytes`.
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

/// A row has no more fields: a word says for each of them whether it differs.
const MOST: usize = 64;

/// What differs from the field expected, as a number that is small where the difference is; 0 stands for [`NULL`].
fn difference(field: i64, expected: i64) -> u64 {
    if field == NULL {
        return 0;
    }
    let by = field.wrapping_sub(known(expected));
    // Small negative numbers become small, too: the sign is the lowest bit.
    ((by << 1 ^ by >> 63) as u64).wrapping_add(1)
}

fn restored(difference: u64, expected: i64) -> i64 {
    if difference == 0 {
        return NULL;
    }
    let code = difference.wrapping_sub(1);
    known(expected).wrapping_add((code >> 1) as i64 ^ -((code & 1) as i64))
}

/// An absent field is as far from others as 0 is.
fn known(expected: i64) -> i64 {
    if expected == NULL { 0 } else { expected }
}

/// As many bytes as the number takes: one for the first 7 bits, two for 14 and so on; how many zeros end the first byte
/// says how many bytes follow. Eight raw ones follow a 0.
fn put(number: u64, out: &mut [u8]) -> usize {
    let length = (70 - (number | 1).leading_zeros() as usize) / 7;
    if length > 8 {
        out[0] = 0;
        out[1..9].copy_from_slice(&number.to_le_bytes());
        return 9;
    }
    let word = number << length | 1 << (length - 1);
    out[..8].copy_from_slice(&word.to_le_bytes());
    length
}

/// The next number off `bytes`.
fn next(bytes: &mut &[u8]) -> u64 {
    let Some(first) = bytes.first() else {
        return 0;
    };
    let length = first.trailing_zeros() as usize + 1;
    if length > 8 {
        *bytes = &bytes[1..];
        return word(bytes, 8);
    }
    match bytes.first_chunk() {
        // Most often more follows: what lies behind the number is shifted out.
        Some(eight) => {
            *bytes = &bytes[length..];
            let behind = 64 - 8 * length;
            u64::from_le_bytes(*eight) << behind >> (behind + length)
        }
        None => word(bytes, length) >> length,
    }
}

/// The next `length` bytes, the lowest first; those that are missing are 0.
fn word(bytes: &mut &[u8], length: usize) -> u64 {
    let (here, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    let mut word = [0; 8];
    word[..here.len()].copy_from_slice(here);
    u64::from_le_bytes(word)
}

/// The bytes of a word that tells of so many fields.
fn told(fields: usize) -> usize {
    fields.div_ceil(8)
}

/// See the `pack` of a row.
pub(crate) fn pack<const N: usize>(row: &[i64; N], expected: &[i64; N], bytes: &mut Vec<u8>) {
    const { assert!(N <= MOST) };
    // Put together here: memory is asked for once.
    let mut packed = [0; 9 * (MOST + 1)];
    let both = row.iter().zip(expected).rev();
    let mut differ = both.fold(0_u64, |differ, (field, expected)| {
        differ << 1 | u64::from(field != expected)
    });
    packed[..8].copy_from_slice(&differ.to_le_bytes());
    let mut length = told(N);
    while differ != 0 {
        let at = differ.trailing_zeros() as usize;
        differ &= differ - 1;
        length += put(difference(row[at], expected[at]), &mut packed[length..]);
    }
    bytes.extend_from_slice(&packed[..length]);
}

/// See the `unpack` of a row: what is expected becomes what was packed.
pub(crate) fn unpack<const N: usize>(row: &mut [i64; N], bytes: &mut &[u8]) {
    let mut differ = word(bytes, told(N));
    while differ != 0 {
        let at = differ.trailing_zeros() as usize;
        differ &= differ - 1;
        if let Some(field) = row.get_mut(at) {
            *field = restored(next(bytes), *field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What fields hold: absent, small, or any that is not so far below 0 that no clock or counter gets there.
    fn field() -> impl Strategy<Value = i64> {
        prop_oneof![Just(NULL), -3..4i64, -i64::MAX / 4..i64::MAX / 2]
    }

    proptest! {
        #[test]
        fn rows_come_back_as_they_were(rows in prop::collection::vec(prop::collection::vec(field(), 61), 1..5)) {
            let mut bytes = Vec::new();
            let rows: Vec<[i64; 61]> = rows.into_iter().map(|row| row.try_into().expect("as many as asked for")).collect();
            let first = [0; 61];
            let before = std::iter::once(&first).chain(&rows);
            for (row, before) in rows.iter().zip(before.clone()) {
                pack(row, before, &mut bytes);
            }
            let mut left = &bytes[..];
            for (row, before) in rows.iter().zip(before) {
                let mut back = *before;
                unpack(&mut back, &mut left);
                prop_assert_eq!(&back, row);
            }
            prop_assert!(left.is_empty());
        }
    }

    #[test]
    fn a_row_as_expected_takes_a_byte_for_eight_fields() {
        let mut bytes = Vec::new();
        pack(&[5; 16], &[5; 16], &mut bytes);
        assert_eq!(bytes, [0, 0]);
    }
}
