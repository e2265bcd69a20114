//! # Full segment
//! The payload of a full segment of one sender: at most what its receiver announced, and less where the path carries
//! less (RFC 8899, RFC 1191), or where the sender leaves room for options that vary (RFC 6691 section 3).
//!
//! A sender that has more data sends it in full segments, and sets PSH where a write ends (RFC 9293 section 3.9.1.2).
//! So the largest payload without PSH that was sent [`FullSegment::ENOUGH`] times is a full segment.

/// The payload of a full segment by the SYNs, less negotiated options, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentBounds {
    /// By the smaller MSS of both SYNs, as either end may have the narrower link.
    pub usual: i64,
    /// By the MSS that the receiver announced: a sender sends no more (RFC 9293 section 3.7.1).
    pub announced: i64,
}

impl SegmentBounds {
    /// Those of packets of 1,500 bytes without options (RFC 894), for a connection whose SYNs were not captured.
    pub const OF_ETHERNET: Self = Self {
        usual: 1460,
        announced: 1460,
    };
}

/// Payload sizes of segments without PSH, until those of a full segment are known.
#[derive(Debug, Default)]
pub struct FullSegment {
    /// Largest payload that was sent often enough, in bytes; [`i64::MAX`] once it is the announced one, 0 before any.
    confirmed: i64,
    /// Larger payloads, in bytes, and how often each was sent.
    candidates: [(i64, u8); 4],
}

impl FullSegment {
    /// Segments of one size that show it: others are cut to some size by a window or by the end of the data, by chance.
    const ENOUGH: u8 = 3;

    /// Might a segment without PSH with this payload change the size?
    #[inline]
    #[must_use]
    pub fn is_larger(&self, payload: i64) -> bool {
        payload > self.confirmed
    }

    /// Adds a segment without PSH whose payload in bytes [`FullSegment::is_larger`]. Returns whether it confirmed a size.
    /// Several segments that offload merged count as none.
    #[cold]
    pub fn add(&mut self, payload: i64, bounds: &SegmentBounds) -> bool {
        let SegmentBounds { usual, announced } = *bounds;
        if payload > announced || payload > usual && payload % usual == 0 {
            return false;
        }
        let candidates = &mut self.candidates;
        let place = candidates.iter().position(|(size, _)| *size == payload);
        // The size that was seen least gives way.
        let place = place.unwrap_or_else(|| {
            let counts = candidates.iter().map(|(_, count)| *count).enumerate();
            let place = counts
                .min_by_key(|(_, count)| *count)
                .map_or(0, |(place, _)| place);
            candidates[place] = (payload, 0);
            place
        });
        candidates[place].1 += 1;
        if candidates[place].1 < Self::ENOUGH {
            return false;
        }
        self.confirmed = if payload >= announced {
            i64::MAX
        } else {
            payload
        };
        for candidate in candidates {
            if candidate.0 <= payload {
                *candidate = (0, 0);
            }
        }
        true
    }

    /// Returns whether a size was sent often enough to show a full segment.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.confirmed > 0
    }

    /// Returns the payload of a full segment, in bytes.
    #[must_use]
    pub fn payload(&self, bounds: &SegmentBounds) -> i64 {
        if self.confirmed == 0 {
            bounds.usual
        } else {
            bounds.announced.min(self.confirmed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNOUNCED: i64 = 1448;

    fn within(bounds: &SegmentBounds, payloads: impl IntoIterator<Item = i64>) -> i64 {
        let mut full = FullSegment::default();
        for payload in payloads {
            if full.is_larger(payload) {
                full.add(payload, bounds);
            }
        }
        full.payload(bounds)
    }

    fn after(payloads: impl IntoIterator<Item = i64>) -> i64 {
        let bounds = SegmentBounds {
            usual: ANNOUNCED,
            announced: ANNOUNCED,
        };
        within(&bounds, payloads)
    }

    #[test]
    fn a_sender_follows_its_receiver_rather_than_its_own_syn() {
        let bounds = SegmentBounds {
            usual: 1388,
            announced: 1448,
        };
        assert_eq!(within(&bounds, []), 1388);
        assert_eq!(within(&bounds, [1448; 3]), 1448);
    }

    #[test]
    fn segments_that_offload_merged_are_no_full_segment() {
        let bounds = SegmentBounds {
            usual: 1448,
            announced: 8948,
        };
        assert_eq!(within(&bounds, [2896, 2896, 2896, 1448, 1448, 1448]), 1448);
    }

    #[test]
    fn without_a_syn_the_size_that_repeats_is_a_full_segment() {
        let bounds = &SegmentBounds::OF_ETHERNET;
        assert_eq!(within(bounds, [7680, 1280, 2560, 1280, 1280, 5120]), 1280);
    }

    #[test]
    fn without_data_it_is_the_announced_one() {
        assert_eq!(after([]), ANNOUNCED);
        assert_eq!(after([1348, 1348]), ANNOUNCED);
    }

    #[test]
    fn a_path_that_carries_less_shows_in_every_segment() {
        assert_eq!(after([1348; 3]), 1348);
    }

    #[test]
    fn segments_that_a_window_cut_do_not_hide_a_full_one() {
        assert_eq!(after([1448, 700, 1448, 700, 700, 1448]), ANNOUNCED);
        assert_eq!(after([1448, 1448, 1448, 700, 700, 700, 700]), ANNOUNCED);
    }

    #[test]
    fn a_larger_size_replaces_a_smaller_one() {
        assert_eq!(after([536, 536, 536, 1348, 1348, 1348]), 1348);
    }

    #[test]
    fn sizes_by_chance_leave_room_for_one_that_repeats() {
        let by_chance = (0..40).flat_map(|size| [500 + 7 * size, 1348]);
        assert_eq!(after(by_chance), 1348);
    }
}
