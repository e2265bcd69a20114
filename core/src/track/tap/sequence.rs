//! # Sequence
//! 32-bit sequence numbers to 64-bit relative ones (RFC 9293 section 3.4: arithmetic is modulo 2^32).

/// The sequence space of one direction: where it starts, and how far it has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceSpace {
    origin: Option<u32>,
    /// The last relative number seen; the next is taken to lie within 2 GiB of it.
    near: i64,
}

impl SequenceSpace {
    /// Fixes the origin unless it is known: relative numbers count from `origin`.
    pub fn anchor(&mut self, origin: u32) {
        self.origin.get_or_insert(origin);
    }

    /// The number that relative 0 stands for.
    #[must_use]
    pub fn origin(&self) -> Option<u32> {
        self.origin
    }

    /// The relative number of `raw`; 0 while no origin is known. Total: any input gives the candidate nearest to
    /// the last number that [`SequenceSpace::advance`] was given.
    #[must_use]
    pub fn relative(&self, raw: u32) -> i64 {
        let Some(origin) = self.origin else { return 0 };
        // Truncation is the modulo: the low 32 bits of the position so far.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let here = origin.wrapping_add(self.near as u32);
        #[allow(clippy::cast_possible_wrap)]
        let distance = raw.wrapping_sub(here) as i32;
        self.near + i64::from(distance)
    }

    /// Moves the reference point forward to `relative`.
    pub fn advance(&mut self, relative: i64) {
        self.near = self.near.max(relative);
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
    fn the_first_origin_stays() {
        let mut space = SequenceSpace::default();
        space.anchor(5);
        space.anchor(9);
        assert_eq!(space.origin(), Some(5));
    }

    proptest! {
        // Whatever the origin and however many wraps: steps below 2 GiB, forth or back, are followed exactly.
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
