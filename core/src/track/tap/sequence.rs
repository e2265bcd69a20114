//! # Sequence
//! Conversion of 32-bit sequence numbers to 64-bit relative ones (RFC 9293 section 3.4: arithmetic is modulo 2^32).

/// The sequence space of one direction: its origin, and the highest number so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceSpace {
    origin: Option<u32>,
    /// Highest relative number so far; the next one is assumed to lie within 2 GiB of it.
    highest: i64,
}

impl SequenceSpace {
    /// Sets the number that becomes relative 0, unless one is set.
    pub fn anchor(&mut self, origin: u32) {
        self.origin.get_or_insert(origin);
    }

    /// Returns the number that is relative 0; `None` while unknown.
    #[must_use]
    pub fn origin(&self) -> Option<u32> {
        self.origin
    }

    /// Returns the relative number of `raw`; 0 while no origin is known.
    ///
    /// There is a result for any input: the candidate nearest to the highest number that [`SequenceSpace::advance`] was
    /// given.
    #[must_use]
    pub fn relative(&self, raw: u32) -> i64 {
        let Some(origin) = self.origin else { return 0 };
        // Truncation is the modulo: the low 32 bits of the highest number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let here = origin.wrapping_add(self.highest as u32);
        #[allow(clippy::cast_possible_wrap)]
        let distance = raw.wrapping_sub(here) as i32;
        self.highest + i64::from(distance)
    }

    /// Makes `raw` the relative number `relative`. Numbers before and after belong to different connections.
    pub fn renumber(&mut self, raw: u32, relative: i64) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let low = relative as u32;
        self.origin = Some(raw.wrapping_sub(low));
        self.highest = relative;
    }

    /// Raises the highest number to `relative`, if that is higher.
    pub fn advance(&mut self, relative: i64) {
        self.highest = self.highest.max(relative);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_from_the_origin() {
        let mut space = SequenceSpace::default();
        space.anchor(1000);
        assert_eq!(space.relative(1001), 1);
        assert_eq!(space.relative(999), -1);
    }

    #[test]
    fn the_origin_is_set_only_once() {
        let mut space = SequenceSpace::default();
        space.anchor(5);
        space.anchor(9);
        assert_eq!(space.origin(), Some(5));
    }

    #[test]
    fn another_connection_continues_the_relative_numbers() {
        let mut space = SequenceSpace::default();
        space.anchor(1000);
        space.renumber(7, 300);
        assert_eq!(space.relative(8), 301);
    }

    proptest! {
        // From any origin and over any number of wraps, steps of less than 2 GiB forward or backward are followed
        // exactly.
        #[test]
        fn unwraps_any_walk(origin: u32, steps in prop::collection::vec(-0x7fff_ffffi64..0x7fff_ffff, 1..64)) {
            let mut space = SequenceSpace::default();
            space.anchor(origin);
            let mut furthest = 0i64;
            for step in steps {
                let position = furthest + step;
                let raw = (i128::from(origin) + i128::from(position)).rem_euclid(1 << 32) as u32;
                prop_assert_eq!(space.relative(raw), position);
                space.advance(position);
                furthest = furthest.max(position);
            }
        }
    }
}
