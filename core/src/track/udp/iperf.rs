//! # Iperf
//! Loss, reordering and jitter of the datagrams of iperf 2 and iperf3, counted as their servers count them.
//!
//! Both programs write a sequence number and the time of sending at the beginning of every datagram, but nothing that
//! identifies the program. The datagrams are recognised by these times, which must advance like a clock. The counting
//! follows iperf 2.1 (`Reporter.c`, `reporter_handle_packet_server_udp`) and iperf 3.12 (`iperf_udp.c`,
//! `iperf_udp_recv`).

use crate::decode::Datagram;

type Head = [u8; Datagram::HEAD_BYTES];

/// The program that sent the datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// iperf 2.
    Iperf2,
    /// iperf3.
    Iperf3,
}

impl Tool {
    /// Returns the usual name of the program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf2",
            Self::Iperf3 => "iperf3",
        }
    }
}

/// Order of sequence number and time at the beginning of a datagram, in big-endian words of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Number, seconds, microseconds; the number is negative in the last datagram.
    Iperf2,
    /// Seconds, microseconds, number of 32 bits.
    Iperf3,
    /// Seconds, microseconds, number of 64 bits.
    Iperf3Wide,
}

/// Number and time that a datagram carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    number: i64,
    /// Time of sending by the sender's clock, in ns.
    sent_ns: i64,
    /// Is it the last datagram of the test?
    last: bool,
}

impl Layout {
    /// Returns the layout of a flow's first datagram; `None` where no layout fits.
    fn of(head: &Head) -> Option<Self> {
        let [_, second, third, _] = words(head);
        if is_below_one_second(second) {
            Some(if third == 0 {
                Self::Iperf3Wide
            } else {
                Self::Iperf3
            })
        } else {
            is_below_one_second(third).then_some(Self::Iperf2)
        }
    }

    /// Returns the number and time of a datagram; `None` where they do not fit the layout.
    fn read(self, head: &Head) -> Option<Stamp> {
        let [first, second, third, fourth] = words(head);
        let (number, seconds, micros) = match self {
            Self::Iperf2 => (i64::from(first.cast_signed()), second, third),
            Self::Iperf3 => (i64::from(third), first, second),
            Self::Iperf3Wide => {
                let number = u64::from(third) << 32 | u64::from(fourth);
                (i64::try_from(number).ok()?, first, second)
            }
        };
        is_below_one_second(micros).then_some(Stamp {
            number: number.abs(),
            sent_ns: i64::from(seconds) * 1_000_000_000 + i64::from(micros) * 1_000,
            last: number < 0,
        })
    }

    const fn tool(self) -> Tool {
        match self {
            Self::Iperf2 => Tool::Iperf2,
            Self::Iperf3 | Self::Iperf3Wide => Tool::Iperf3,
        }
    }
}

fn words(head: &Head) -> [u32; 4] {
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    [word(0), word(4), word(8), word(12)]
}

const fn is_below_one_second(micros: u32) -> bool {
    micros < 1_000_000
}

/// The results that an iperf server at the tap would have reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IperfReport {
    /// The program that sent the datagrams.
    pub tool: Tool,
    /// Number of lost datagrams.
    pub lost: i64,
    /// Number of datagrams that arrived after one with a higher number, or twice.
    pub reordered: i64,
    /// Smoothed mean deviation of transit times, in ns (RFC 1889 section 6.3.1).
    pub jitter_ns: i64,
}

/// The counters of an iperf server. Tests of iperf 2 with more than 2^31 datagrams are not supported.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    layout: Layout,
    first: Stamp,
    /// Time of capture of the first datagram, in ns.
    first_ns: i64,
    latest: Stamp,
    /// Time of capture of the latest datagram, in ns.
    latest_ns: i64,
    /// Highest sequence number.
    highest: i64,
    /// Number of datagrams with a positive sequence number.
    counted: i64,
    /// Number of datagrams below `highest` that have not arrived.
    missing: i64,
    reordered: i64,
    jitter_ns: f64,
}

impl Meter {
    /// Least number of datagrams by which iperf is recognised.
    const MIN_DATAGRAMS: i64 = 3;

    /// Largest number of datagrams that may have been lost before the first captured one, although the capture began
    /// before the test.
    const MAX_LOST_BEFORE_FIRST: i64 = 16;

    /// Largest change of the transit time between two datagrams, in ns; no queue grows by more.
    const MAX_TRANSIT_CHANGE_NS: i64 = 10_000_000_000;

    /// Returns counters that begin with the first datagram of a flow; `None` where it cannot be iperf's.
    #[must_use]
    pub fn begin(head: &Head, time_ns: i64) -> Option<Self> {
        let layout = Layout::of(head)?;
        let first = layout.read(head)?;
        let mut meter = Self {
            layout,
            first,
            first_ns: time_ns,
            latest: first,
            latest_ns: time_ns,
            highest: 0,
            counted: 0,
            missing: 0,
            reordered: 0,
            jitter_ns: 0.0,
        };
        meter.count(first, time_ns);
        Some(meter)
    }

    /// Counts the next datagram; returns `false` where it cannot be of the same test.
    pub fn take(&mut self, head: &Head, time_ns: i64) -> bool {
        let Some(stamp) = self.layout.read(head) else {
            return false;
        };
        // iperf 2 repeats its last datagram until the server answers.
        if self.latest.last {
            return stamp.last;
        }
        let transit_change_ns = (time_ns - stamp.sent_ns) - (self.latest_ns - self.latest.sent_ns);
        if transit_change_ns.abs() > Self::MAX_TRANSIT_CHANGE_NS {
            return false;
        }
        if stamp.number > 0 {
            self.jitter_ns += (transit_change_ns.abs() as f64 - self.jitter_ns) / 16.0;
        }
        self.count(stamp, time_ns);
        true
    }

    /// Counts a datagram by its sequence number. Numbers begin with 1; old clients of iperf 2 send a 0 first, which the
    /// server ignores.
    fn count(&mut self, stamp: Stamp, time_ns: i64) {
        if stamp.number > 0 {
            self.counted += 1;
            if stamp.number > self.highest {
                self.missing += stamp.number - self.highest - 1;
                self.highest = stamp.number;
            } else {
                self.reordered += 1;
                // A late datagram was counted as missing before. iperf3 never lets the count fall below 0, iperf 2
                // does.
                if self.missing > 0 || self.layout == Layout::Iperf2 {
                    self.missing -= 1;
                }
            }
        }
        (self.latest, self.latest_ns) = (stamp, time_ns);
    }

    /// Returns the server's report; `None` where the datagrams turn out not to be iperf's.
    ///
    /// Datagrams sent before `capture_ns`, the beginning of the capture, do not count as lost.
    #[must_use]
    pub fn report(&self, capture_ns: i64) -> Option<IperfReport> {
        let sent_ns = self.latest.sent_ns - self.first.sent_ns;
        let duration_ns = self.latest_ns - self.first_ns;
        let clock_runs = sent_ns > 0 && sent_ns >= duration_ns / 10;
        if self.counted < Self::MIN_DATAGRAMS || self.reordered > self.counted / 2 || !clock_runs {
            return None;
        }
        let sent_before = (self.first.number - 1).max(0);
        let spacing_ns = sent_ns as f64 / (self.highest - self.first.number).max(1) as f64;
        let began_before_capture =
            sent_before as f64 * spacing_ns > (self.first_ns - capture_ns) as f64;
        let unseen = sent_before > Self::MAX_LOST_BEFORE_FIRST && began_before_capture;
        let lost = self.missing - if unseen { sent_before } else { 0 };
        Some(IperfReport {
            tool: self.layout.tool(),
            lost: lost.max(0),
            reordered: self.reordered,
            jitter_ns: self.jitter_ns.round() as i64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    /// Time of the first datagram by the capture's clock, in ns.
    const START: i64 = 1_700_000_000_000 * MS;

    /// Returns the head of a datagram sent at `sent_ms`, by a sender's clock that differs from the capture's.
    fn head(layout: Layout, number: i32, sent_ms: u32) -> Head {
        let (seconds, micros) = (5_000_000 + sent_ms / 1000, sent_ms % 1000 * 1000);
        let number = number.cast_unsigned();
        let words = match layout {
            Layout::Iperf2 => [number, seconds, micros, 0],
            Layout::Iperf3 => [seconds, micros, number, 0xdead_beef],
            Layout::Iperf3Wide => [seconds, micros, 0, number],
        };
        let mut head = [0; 16];
        for (to, from) in head.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&from.to_be_bytes());
        }
        head
    }

    /// Returns the report on datagrams sent 10 ms apart in the order of their numbers. Their transit times are equal,
    /// except for the indices in `late_ms` with an extra delay.
    fn measured(layout: Layout, numbers: &[i32], late_ms: &[(usize, i64)]) -> Option<IperfReport> {
        let mut meter: Option<Meter> = None;
        for (index, &number) in numbers.iter().enumerate() {
            let sent_ms = number.unsigned_abs() * 10;
            let late = late_ms.iter().find(|late| late.0 == index);
            let time_ns = START + (i64::from(sent_ms) + late.map_or(0, |late| late.1)) * MS;
            let head = head(layout, number, sent_ms);
            match &mut meter {
                None => meter = Meter::begin(&head, time_ns),
                Some(meter) => assert!(meter.take(&head, time_ns)),
            }
        }
        meter?.report(START)
    }

    const LAYOUTS: [Layout; 3] = [Layout::Iperf2, Layout::Iperf3, Layout::Iperf3Wide];

    #[test]
    fn a_late_datagram_is_not_lost() {
        for layout in LAYOUTS {
            let report = measured(layout, &[1, 2, 5, 6, 4, 9], &[]).expect("iperf's");
            assert_eq!(report.tool, layout.tool());
            assert_eq!((report.lost, report.reordered), (3, 1)); // 3, 7, 8; 4 came late
        }
    }

    #[test]
    fn jitter_grows_by_a_sixteenth_of_a_transit_time_change() {
        for layout in LAYOUTS {
            let jitter = |late: &[_]| {
                measured(layout, &[1, 2, 3], late)
                    .expect("iperf's")
                    .jitter_ns
            };
            assert_eq!(jitter(&[]), 0);
            assert_eq!(jitter(&[(2, 16)]), MS);
            assert_eq!(jitter(&[(1, 16)]), MS + (16 * MS - MS) / 16);
        }
    }

    #[test]
    fn the_repeated_last_datagram_of_iperf_2_counts_once() {
        let report = measured(Layout::Iperf2, &[1, 2, 3, -5, -5, -5], &[]).expect("iperf's");
        assert_eq!((report.lost, report.reordered), (1, 0));
    }

    #[test]
    fn number_0_is_ignored() {
        let report = measured(Layout::Iperf2, &[0, 1, 2, 3], &[]).expect("iperf's");
        assert_eq!((report.lost, report.reordered), (0, 0));
    }

    #[test]
    fn datagrams_before_the_capture_are_not_lost() {
        // Datagram 101 arrives 1010 ms after START.
        let report = |capture_ns| {
            let mut meter = Meter::begin(&head(Layout::Iperf3, 101, 1010), START + 1010 * MS)?;
            for number in [102_u32, 104] {
                let sent_ms = number * 10;
                let time_ns = START + i64::from(sent_ms) * MS;
                meter.take(
                    &head(Layout::Iperf3, number.cast_signed(), sent_ms),
                    time_ns,
                );
            }
            meter.report(capture_ns)
        };
        // Datagram 1 was sent 10 ms after START.
        assert_eq!(report(START + 500 * MS).map(|r| r.lost), Some(1));
        assert_eq!(report(START - 500 * MS).map(|r| r.lost), Some(101));
    }

    #[test]
    fn a_clock_that_does_not_advance_is_not_iperf() {
        let mut meter = Meter::begin(&[0; 16], START).expect("a time of 0 is one");
        for second in 1..5 {
            meter.take(&[0; 16], START + second * 1000 * MS);
        }
        assert_eq!(meter.report(START), None);
        let late = head(Layout::Iperf3, 2, 20_000);
        let mut meter = Meter::begin(&head(Layout::Iperf3, 1, 0), START).expect("could be");
        assert!(!meter.take(&late, START));
    }

    #[test]
    fn huge_numbers_do_not_overflow() {
        let far = [
            0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ];
        let beyond = [[0xff; 4], [0; 4], [0xff; 4], [0xff; 4]].concat();
        for layout in LAYOUTS {
            let mut meter = Meter::begin(&head(layout, 1, 0), START).expect("could be");
            meter.take(&far, START);
            meter.take(&beyond.clone().try_into().expect("16 bytes"), 1 << 62);
            assert!(meter.report(0).is_none_or(|report| report.lost >= 0));
        }
    }
}
