//! # Options
//! Reads the option lists of pcapng blocks (draft-ietf-opsawg-pcapng section 3.5).

use super::bytes::ByteOrder;
use super::error::Reason;

/// The option opt_endofopt, which ends a list.
const END: u16 = 0;
const HEAD_BYTES: usize = 4;

/// Code and value of an option. The meaning of a code depends on the block.
pub(super) struct Field<'a> {
    pub code: u16,
    pub value: &'a [u8],
}

/// Iterator over a list of options, up to opt_endofopt or the end of the block.
pub(super) struct Options<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    pub fn new(order: ByteOrder, rest: &'a [u8]) -> Self {
        Options { order, rest }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<Field<'a>, Reason>;

    fn next(&mut self) -> Option<Self::Item> {
        let list = std::mem::take(&mut self.rest);
        if list.is_empty() {
            return None;
        }
        if list.len() < HEAD_BYTES {
            return Some(Err(Reason::Options));
        }
        let code = self.order.u16(list, 0);
        if code == END {
            return None;
        }
        let end = HEAD_BYTES + usize::from(self.order.u16(list, 2));
        let Some(value) = list.get(HEAD_BYTES..end) else {
            return Some(Err(Reason::Options));
        };
        self.rest = list.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Field { code, value }))
    }
}
