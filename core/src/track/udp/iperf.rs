//! # Iperf
//! Loss, reordering and jitter of the datagrams of iperf 2 and iperf3, counted as their servers count them.
//!
//! Both write a number and the time of sending at the beginning of every datagram, and nothing that tells what it is:
//! the clock that these times must follow does. The servers' ways were read off iperf 2.1 (`Reporter.c`,
//! `reporter_handle_packet_server_udp`) and iperf 3.12 (`iperf_udp.c`, `iperf_udp_recv`).

use crate::decode::Datagram;

type Head = [u8; Datagram::HEAD_BYTES];

/// Who sent the datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// iperf 2.
    Iperf2,
    /// iperf3.
    Iperf3,
}

impl Tool {
    /// As its users call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf2",
            Self::Iperf3 => "iperf3",
        }
    }
}

/// Where numbers and times stand: big-endian words of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Number, seconds, microseconds; the number of the last datagram is negated.
    Iperf2,
    /// Seconds, microseconds, number.
    Iperf3,
    /// Seconds, microseconds, number of 64 bits.
    Iperf3Wide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    number: i64,
    sent_ns: i64,
    last: bool,
}

impl Layout {
    /// The only one that a first datagram can have, if any.
    fn of(head: &Head) -> Option<Self> {
        let [_, second, third, _] = words(head);
        if is_part_of_second(second) {
            Some(if third == 0 {
                Self::Iperf3Wide
            } else {
                Self::Iperf3
            })
        } else {
            is_part_of_second(third).then_some(Self::Iperf2)
        }
    }

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
        is_part_of_second(micros).then_some(Stamp {
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

const fn is_part_of_second(micros: u32) -> bool {
    micros < 1_000_000
}

/// What a server at the place of capture would have reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Who sent.
    pub tool: Tool,
    /// Datagrams that did not come.
    pub lost: i64,
    /// Datagrams that came after one with a higher number, or twice.
    pub reordered: i64,
    /// Mean deviation of transit times, smoothed (RFC 1889 section 6.3.1).
    pub jitter_ns: i64,
}

/// The server's counters. A test of more than 2^31 datagrams of iperf 2 is not followed.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    layout: Layout,
    first: Stamp,
    first_ns: i64,
    latest: Stamp,
    latest_ns: i64,
    highest: i64,
    counted: i64,
    missing: i64,
    reordered: i64,
    jitter_ns: f64,
}

impl Meter {
    /// Datagrams to be sure.
    const LEAST: i64 = 3;

    /// So many may be lost before one comes, and the capture begin with that one.
    const FEW: i64 = 16;

    /// No queue lets one datagram wait so much longer than the one before.
    const MOST_NS: i64 = 10_000_000_000;

    /// Begins with the first datagram of a flow, if it can be one of iperf's.
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

    /// Takes the next datagram; says whether it can be one of the same test.
    pub fn take(&mut self, head: &Head, time_ns: i64) -> bool {
        let Some(stamp) = self.layout.read(head) else {
            return false;
        };
        // iperf 2 sends its last datagram again until the server answers.
        if self.latest.last {
            return stamp.last;
        }
        let waited_ns = (time_ns - stamp.sent_ns) - (self.latest_ns - self.latest.sent_ns);
        if waited_ns.abs() > Self::MOST_NS {
            return false;
        }
        if stamp.number > 0 {
            self.jitter_ns += (waited_ns.abs() as f64 - self.jitter_ns) / 16.0;
        }
        self.count(stamp, time_ns);
        true
    }

    /// Numbers count from 1; old clients of iperf 2 send a 0 before, which its server passes over.
    fn count(&mut self, stamp: Stamp, time_ns: i64) {
        if stamp.number > 0 {
            self.counted += 1;
            if stamp.number > self.highest {
                self.missing += stamp.number - self.highest - 1;
                self.highest = stamp.number;
            } else {
                self.reordered += 1;
                // What comes late was counted as lost. iperf3 forgets a late one too many, iperf 2 does not.
                if self.missing > 0 || self.layout == Layout::Iperf2 {
                    self.missing -= 1;
                }
            }
        }
        (self.latest, self.latest_ns) = (stamp, time_ns);
    }

    /// What the server would report, or `None` where the datagrams turned out not to be iperf's.
    ///
    /// Datagrams sent before `capture_ns`, the beginning of the capture, are not lost.
    #[must_use]
    pub fn report(&self, capture_ns: i64) -> Option<Report> {
        let sent_ns = self.latest.sent_ns - self.first.sent_ns;
        let lasted_ns = self.latest_ns - self.first_ns;
        let clock_ran = sent_ns > 0 && sent_ns >= lasted_ns / 10;
        if self.counted < Self::LEAST || self.reordered > self.counted / 2 || !clock_ran {
            return None;
        }
        let before = (self.first.number - 1).max(0);
        let spacing_ns = sent_ns as f64 / (self.highest - self.first.number).max(1) as f64;
        let began_before = before as f64 * spacing_ns > (self.first_ns - capture_ns) as f64;
        let unseen = before > Self::FEW && began_before;
        let lost = self.missing - if unseen { before } else { 0 };
        Some(Report {
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
    /// When the first datagram came, by the capture's clock.
    const START: i64 = 1_700_000_000_000 * MS;

    /// A datagram that left at a millisecond of the sender's clock, which began 5000 s before.
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

    /// Sends datagrams 10 ms apart by number; all take equally long but for those named with their delay.
    fn measured(layout: Layout, numbers: &[i32], late_ms: &[(usize, i64)]) -> Option<Report> {
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
    fn gaps_are_losses_until_they_are_filled() {
        for layout in LAYOUTS {
            let report = measured(layout, &[1, 2, 5, 6, 4, 9], &[]).expect("iperf's");
            assert_eq!(report.tool, layout.tool());
            assert_eq!((report.lost, report.reordered), (3, 1)); // 3, 7, 8; 4 came late
        }
    }

    #[test]
    fn jitter_is_a_sixteenth_of_each_change_of_the_transit_time() {
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
    fn the_last_datagram_of_iperf_2_counts_once() {
        let report = measured(Layout::Iperf2, &[1, 2, 3, -5, -5, -5], &[]).expect("iperf's");
        assert_eq!((report.lost, report.reordered), (1, 0));
    }

    #[test]
    fn a_number_0_is_passed_over() {
        let report = measured(Layout::Iperf2, &[0, 1, 2, 3], &[]).expect("iperf's");
        assert_eq!((report.lost, report.reordered), (0, 0));
    }

    #[test]
    fn what_was_sent_before_the_capture_is_not_lost_and_what_was_lost_first_is() {
        // Datagram 101 comes 1010 ms after START, the capture's beginning.
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
        // The first of 100 left 10 ms after START.
        assert_eq!(report(START + 500 * MS).map(|r| r.lost), Some(1));
        assert_eq!(report(START - 500 * MS).map(|r| r.lost), Some(101));
    }

    #[test]
    fn a_clock_that_does_not_run_is_none() {
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
    fn numbers_that_no_test_reaches_do_not_overflow() {
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
