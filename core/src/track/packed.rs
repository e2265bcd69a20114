//! # Packed
//! Rows of integers in few bytes: only what differs from what was expected is written.

use super::event::NULL;

/// Declares a struct of integers that can be packed.
macro_rules! row {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$means:meta])* pub $field:ident: $kind:ty,)* }
    ) => {
        $(#[$about])*
        pub struct $name { $($(#[$means])* pub $field: $kind,)* }

        impl $name {
            /// Appends the row to `bytes`, of which `expected` is known to whoever reads it.
            pub fn pack(&self, expected: &Self, bytes: &mut Vec<u8>) {
                let numbers = |row: &Self| [$(row.$field as i64),*];
                $crate::track::packed::pack(&numbers(self), &numbers(expected), bytes);
            }

            /// Takes the next row off `bytes`.
            #[must_use]
            pub fn unpack(expected: &Self, bytes: &mut &[u8]) -> Self {
                let mut numbers = [$(expected.$field as i64),*];
                $crate::track::packed::unpack(&mut numbers, bytes);
                let [$($field),*] = numbers;
                Self { $($field: $field as $kind),* }
            }
        }
    };
}

pub(super) use row;

/// Fields that share a byte, which says for each of them whether it is as expected.
const GROUP: usize = 8;

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

/// Bytes of a number without its leading zeros.
const fn significant(number: u64) -> usize {
    8 - number.leading_zeros() as usize / 8
}

/// See the `pack` of a row. Of each group: which fields differ, how many bytes each of them takes, and these.
pub(super) fn pack(row: &[i64], expected: &[i64], bytes: &mut Vec<u8>) {
    /// Two lengths share a byte; each number is written whole, and the next over what it does not need.
    const MOST: usize = 1 + GROUP / 2 + 8 * (GROUP + 1);
    for (fields, expected) in row.chunks(GROUP).zip(expected.chunks(GROUP)) {
        let mut differ = 0u8;
        for (at, (field, expected)) in fields.iter().zip(expected).enumerate() {
            differ |= u8::from(field != expected) << at;
        }
        if differ == 0 {
            bytes.push(0);
            continue;
        }
        let mut group = [0; MOST];
        group[0] = differ;
        let count = differ.count_ones() as usize;
        let mut end = 1 + count.div_ceil(2);
        for number in 0..count {
            let at = differ.trailing_zeros() as usize;
            differ &= differ - 1;
            let difference = difference(fields[at], expected[at]);
            let length = significant(difference);
            group[1 + number / 2] |= (length as u8) << (number % 2 * 4);
            group[end..end + 8].copy_from_slice(&difference.to_le_bytes());
            end += length;
        }
        bytes.extend_from_slice(&group[..end]);
    }
}

/// See the `unpack` of a row: what is expected becomes what was packed.
pub(super) fn unpack(row: &mut [i64], bytes: &mut &[u8]) {
    for fields in row.chunks_mut(GROUP) {
        let mut differ = take(bytes, 1).first().copied().unwrap_or_default();
        let lengths = take(bytes, (differ.count_ones() as usize).div_ceil(2));
        let both = lengths.iter().flat_map(|byte| [byte & 15, byte >> 4]);
        for length in both {
            if differ == 0 {
                break;
            }
            let at = differ.trailing_zeros() as usize;
            differ &= differ - 1;
            let mut code = [0; 8];
            let taken = take(bytes, length.into());
            code[..taken.len()].copy_from_slice(taken);
            if let Some(field) = fields.get_mut(at) {
                *field = restored(u64::from_le_bytes(code), *field);
            }
        }
    }
}

/// The next bytes, as many as there are.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, left) = bytes.split_at(count.min(bytes.len()));
    *bytes = left;
    taken
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
        fn rows_come_back_as_they_were(rows in prop::collection::vec(prop::collection::vec(field(), 19), 1..5)) {
            let mut bytes = Vec::new();
            let first = vec![0; 19];
            let before = std::iter::once(&first).chain(&rows);
            for (row, before) in rows.iter().zip(before.clone()) {
                pack(row, before, &mut bytes);
            }
            let mut left = &bytes[..];
            for (row, before) in rows.iter().zip(before) {
                let mut back = before.clone();
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
