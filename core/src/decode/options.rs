//! # Options
//! TCP options (RFC 9293 section 3.2).

use super::cursor::u32_at;
use super::option_list::{kind, split_value};
use super::segment::Options;

/// Experiment identifier that TCP Fast Open used before it got an option kind (RFC 7413 section 4.1.1).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

impl Options {
    /// Reads the timestamps, in their usual place (RFC 7323 appendix A), of a list without other options. An empty list
    /// has none. The outer `None` is for any other list, which few segments of an open connection have.
    #[inline(always)] // for every segment
    #[allow(clippy::option_option, reason = "a usual list may be empty")]
    pub(super) fn usual_timestamps(list: &[u8]) -> Option<Option<(u32, u32)>> {
        const USUAL: [u8; 4] = [kind::NO_OPERATION, kind::NO_OPERATION, kind::TIMESTAMPS, 10];
        match <&[u8; 12]>::try_from(list) {
            Ok(list) if u32_at(list, 0) == u32::from_be_bytes(USUAL) => {
                Some(Some((u32_at(list, 4), u32_at(list, 8))))
            }
            _ => list.is_empty().then_some(None),
        }
    }

    /// Reads an option list; `cut` means that the snaplen has cut its end.
    ///
    /// A known option with a wrong length is skipped, as receivers do. A length beyond the list ends the list. Both set
    /// `incomplete`.
    pub(super) fn parse(list: &[u8], cut: bool) -> Self {
        let mut options = Self::default();
        let mut rest = list;
        while let [kind, tail @ ..] = rest {
            rest = match *kind {
                kind::END => return options,
                kind::NO_OPERATION => tail,
                kind => {
                    let Some((value, after)) = split_value(tail) else {
                        options.incomplete = true;
                        return options;
                    };
                    options.incomplete |= !options.set(kind, value);
                    after
                }
            };
        }
        options.incomplete |= cut;
        options
    }

    /// Reads one option; returns false if a known option has a wrong length.
    fn set(&mut self, kind: u8, value: &[u8]) -> bool {
        match (kind, value) {
            (kind::MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (kind::WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
            (kind::SACK, blocks) => return self.set_sack(blocks),
            (kind::TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                self.timestamps = Some((
                    u32::from_be_bytes([a, b, c, d]),
                    u32::from_be_bytes([e, f, g, h]),
                ));
            }
            (kind::MULTIPATH, [_, ..]) => self.multipath = true,
            (kind::FAST_OPEN, _) => self.fast_open = true,
            (kind::EXPERIMENT, value) => self.fast_open |= value.starts_with(&FAST_OPEN_EXPERIMENT),
            (
                kind::MSS
                | kind::WINDOW_SCALE
                | kind::SACK_PERMITTED
                | kind::TIMESTAMPS
                | kind::MULTIPATH,
                _,
            ) => {
                return false;
            }
            _ => {}
        }
        true
    }

    fn set_sack(&mut self, value: &[u8]) -> bool {
        let (blocks, remainder) = value.as_chunks::<8>();
        if blocks.is_empty() || blocks.len() > self.sack.len() || !remainder.is_empty() {
            return false;
        }
        for (slot, &[a, b, c, d, e, f, g, h]) in self.sack.iter_mut().zip(blocks) {
            *slot = (
                u32::from_be_bytes([a, b, c, d]),
                u32::from_be_bytes([e, f, g, h]),
            );
        }
        self.sack_blocks = blocks.len() as u8;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &[u8]) -> Options {
        Options::parse(list, false)
    }

    #[test]
    fn the_options_of_a_syn() {
        let syn = [
            2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 0,
        ];
        let expected = Options {
            mss: Some(1460),
            window_scale: Some(0),
            sack_permitted: true,
            timestamps: Some((1, 0)),
            ..Options::default()
        };
        assert_eq!(parse(&syn), expected);
    }

    #[test]
    fn timestamps_are_read_aligned_or_not() {
        let aligned = [1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4];
        let unaligned = [8, 10, 0, 0, 1, 2, 0, 0, 3, 4, 1, 1];
        assert_eq!(
            parse(&aligned),
            Options {
                timestamps: Some((0x102, 0x304)),
                ..Options::default()
            }
        );
        assert_eq!(parse(&unaligned), parse(&aligned));
    }

    #[test]
    fn sack_blocks_with_timestamps() {
        let list = [
            1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 7, 0, 0, 0, 9,
        ];
        let options = parse(&list);
        assert_eq!(options.timestamps, Some((1, 2)));
        assert_eq!(options.sack[..options.sack_blocks.into()], [(7, 9)]);
    }

    #[test]
    fn four_sack_blocks_fill_the_option_space() {
        let list = [&[1, 1, 5, 34][..], &[0, 0, 0, 1, 0, 0, 0, 2].repeat(4)].concat();
        assert_eq!(
            (parse(&list).sack, parse(&list).sack_blocks),
            ([(1, 2); 4], 4)
        );
    }

    #[test]
    fn fast_open_by_its_kind_and_by_its_experiment() {
        assert!(parse(&[34, 2]).fast_open);
        assert!(parse(&[34, 6, 1, 2, 3, 4]).fast_open);
        assert!(parse(&[254, 4, 0xf9, 0x89]).fast_open);
        assert!(!parse(&[254, 4, 0xe2, 0xd4]).fast_open);
    }

    #[test]
    fn multipath_is_recognised() {
        assert_eq!(
            parse(&[30, 3, 0x20]),
            Options {
                multipath: true,
                ..Options::default()
            }
        );
    }

    #[test]
    fn unknown_options_are_skipped() {
        assert_eq!(
            parse(&[19, 3, 9, 3, 3, 7]),
            Options {
                window_scale: Some(7),
                ..Options::default()
            }
        );
    }

    #[test]
    fn the_list_ends_at_its_end_mark() {
        assert_eq!(Options::parse(&[0, 3, 3, 7], true), Options::default());
    }

    #[test]
    fn a_length_that_does_not_fit_ends_the_list() {
        let faults: [&[u8]; 4] = [&[3], &[3, 0, 7], &[3, 1, 7], &[2, 4, 5]];
        for fault in faults {
            let list = [&[3, 3, 7], fault].concat();
            let before = Options {
                window_scale: Some(7),
                incomplete: true,
                ..Options::default()
            };
            assert_eq!(parse(&list), before);
        }
    }

    #[test]
    fn a_known_option_of_a_wrong_length_is_skipped() {
        for wrong in [
            &[2, 3, 5][..],
            &[4, 3, 0],
            &[5, 2],
            &[5, 6, 1, 1, 1, 1],
            &[8, 4, 0, 0],
            &[30, 2],
        ] {
            let list = [wrong, &[3, 3, 7]].concat();
            let rest = Options {
                window_scale: Some(7),
                incomplete: true,
                ..Options::default()
            };
            assert_eq!(parse(&list), rest);
        }
    }
}
