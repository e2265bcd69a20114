//! # Records
//! What passed the tap and is not acknowledged yet, and what its acknowledgment measures.

use std::collections::{BTreeMap, VecDeque};

/// One RTT measurement, from the tap to the receiver and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// When the segment passed the tap.
    pub sent_ns: i64,
    /// Until its acknowledgment passed the tap.
    pub rtt_ns: i64,
    /// Round in which the segment was sent.
    pub round: u32,
    /// A lone segment answered late: the delayed-ACK timer (RFC 9293 section 3.8.6.3) may be in it.
    pub maybe_delayed: bool,
}

/// A stretch of sequence space as it first passed the tap; small, as there is one for each segment in flight.
#[derive(Debug, Clone, Copy)]
struct Record {
    start: i64,
    time_ns: i64,
    length: u32,
    round: u32,
    tsval: u32,
    stamped: bool,
    resent: bool,
    sacked: bool,
}

const _: () = assert!(size_of::<Record>() == 32);

impl Record {
    fn new(start: i64, end: i64, stamp: Stamp, round: u32) -> Self {
        Self {
            start,
            time_ns: stamp.time_ns,
            length: u32::try_from(end - start).unwrap_or(u32::MAX),
            round,
            tsval: stamp.tsval.unwrap_or_default(),
            stamped: stamp.tsval.is_some(),
            resent: false,
            sacked: false,
        }
    }

    fn end(&self) -> i64 {
        self.start + i64::from(self.length)
    }

    fn first(&self) -> Stamp {
        Stamp {
            time_ns: self.time_ns,
            tsval: self.stamped.then_some(self.tsval),
        }
    }
}

/// When a segment passed the tap, by the tap's clock and by that of its sender (TSval).
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// Time of capture.
    pub time_ns: i64,
    /// TSval.
    pub tsval: Option<u32>,
}

/// The records of one direction, in the order of their sequence numbers.
#[derive(Debug, Default)]
pub struct Records {
    records: VecDeque<Record>,
    /// When what was sent again last was, by its start.
    again: BTreeMap<i64, Stamp>,
}

impl Records {
    /// More than these unacknowledged are not a live stream (a one-sided capture): the oldest go.
    const MOST: usize = 1 << 17;
    /// A lone segment answered this much later than the least RTT may have met the delayed-ACK timer, which is 40 ms
    /// on Linux (`TCP_DELACK_MIN`) and longer elsewhere.
    const DELAYED_ACK_NS: i64 = 25_000_000;

    /// `start..end` is sent after all that was.
    #[inline]
    pub fn push(&mut self, start: i64, end: i64, stamp: Stamp, round: u32) {
        self.make_room();
        self.records
            .push_back(Record::new(start, end, stamp, round));
    }

    /// `start..end` is sent, which was not before, or is sent `again` as it was lost before the tap.
    pub fn fill(&mut self, start: i64, end: i64, stamp: Stamp, round: u32, again: bool) {
        self.make_room();
        let place = self.records.partition_point(|r| r.start < start);
        let record = Record {
            resent: again,
            ..Record::new(start, end, stamp, round)
        };
        self.records.insert(place, record);
    }

    fn make_room(&mut self) {
        if self.records.capacity() == 0 {
            // A SYN is often all there is of a connection.
            self.records.reserve_exact(1);
        } else if self.records.len() >= Self::MOST {
            self.records.pop_front();
        }
    }

    /// `start..end` is sent again; says when it last was.
    pub fn resend(&mut self, start: i64, end: i64, stamp: Stamp) -> Option<i64> {
        let first = self.records.partition_point(|r| r.end() <= start);
        let mut before_ns = None;
        for record in (self.records.range_mut(first..)).take_while(|r| r.start < end) {
            let before = self.again.insert(record.start, stamp);
            before_ns.get_or_insert(before.unwrap_or(record.first()).time_ns);
            record.resent = true;
            record.sacked = false; // what comes now may be what the next acknowledgment answers
        }
        before_ns
    }

    /// When the first of what lies above `start` passed the tap.
    #[must_use]
    pub fn above_ns(&self, start: i64) -> Option<i64> {
        let passed = self.records.partition_point(|r| r.start < start);
        self.records.get(passed).map(|record| record.time_ns)
    }

    /// Takes off what is acknowledged. Karn's rule (RFC 6298 section 3) as tcptrace refines it: the acknowledgment
    /// ends at a segment's end, the segment went out once, and nothing it covers went out after it. With timestamps
    /// the echo says which copy was acknowledged, so a segment sent twice still measures. `least_ns`: the least RTT.
    #[inline]
    pub fn acknowledge(
        &mut self,
        ack: i64,
        tsecr: Option<u32>,
        time_ns: i64,
        least_ns: Option<i64>,
    ) -> Option<RttSample> {
        let mut newest = None;
        let mut count = 0;
        let mut latest_ns = i64::MIN;
        for record in &self.records {
            if record.end() > ack {
                break;
            }
            if !record.sacked {
                latest_ns = latest_ns.max(self.last(record).time_ns);
                newest = Some(record);
            }
            count += 1;
        }
        let answered = newest
            .filter(|record| record.end() == ack)
            .and_then(|record| Some((self.answered_ns(record, latest_ns, tsecr)?, record.round)));
        self.records.drain(..count);
        if !self.again.is_empty() {
            self.forget_again();
        }
        let (sent_ns, round) = answered?;
        let rtt_ns = time_ns - sent_ns;
        if rtt_ns < 0 {
            return None; // the capture shows the answer before the question
        }
        let lone = count == 1 && self.records.is_empty();
        let late = least_ns.is_some_and(|least_ns| rtt_ns > least_ns + Self::DELAYED_ACK_NS);
        Some(RttSample {
            sent_ns,
            rtt_ns,
            round,
            maybe_delayed: lone && late,
        })
    }

    #[cold]
    fn forget_again(&mut self) {
        let first = self.records.front().map_or(i64::MAX, |record| record.start);
        while self
            .again
            .first_key_value()
            .is_some_and(|(&start, _)| start < first)
        {
            self.again.pop_first();
        }
    }

    /// When it was last sent.
    fn last(&self, record: &Record) -> Stamp {
        let again = record.resent.then(|| self.again.get(&record.start));
        again.flatten().copied().unwrap_or(record.first())
    }

    /// When the copy was sent that an acknowledgment answers, of which `latest_ns` is when the last was sent of all that
    /// it covers.
    #[inline]
    fn answered_ns(&self, record: &Record, latest_ns: i64, tsecr: Option<u32>) -> Option<i64> {
        let first = record.first();
        if !record.resent {
            return (latest_ns <= first.time_ns).then_some(first.time_ns);
        }
        let last = self.last(record);
        if first.tsval == last.tsval || tsecr.is_none() {
            None
        } else if tsecr == first.tsval {
            Some(first.time_ns)
        } else {
            (tsecr == last.tsval).then_some(last.time_ns)
        }
    }

    /// Marks what a SACK block covers, up to `known` since long; measures on the youngest segment in it that went out
    /// once.
    pub fn sack(&mut self, start: i64, known: i64, end: i64, time_ns: i64) -> Option<RttSample> {
        let first = self
            .records
            .partition_point(|r| r.start < start || r.end() <= known);
        let mut youngest: Option<Record> = None;
        for record in (self.records.range_mut(first..)).take_while(|r| r.end() <= end) {
            if !record.sacked && !record.resent {
                youngest = Some(*record);
            }
            record.sacked = true;
        }
        let record = youngest?;
        let rtt_ns = time_ns - record.time_ns;
        (rtt_ns >= 0).then_some(RttSample {
            sent_ns: record.time_ns,
            rtt_ns,
            round: record.round,
            maybe_delayed: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn sent(ms: i64) -> Stamp {
        Stamp {
            time_ns: ms * MS,
            tsval: Some(ms as u32),
        }
    }

    fn two() -> Records {
        let mut records = Records::default();
        records.push(0, 1000, sent(0), 0);
        records.push(1000, 2000, sent(1), 0);
        records
    }

    fn rtt_ms(sample: Option<RttSample>) -> Option<i64> {
        sample.map(|sample| sample.rtt_ns / MS)
    }

    #[test]
    fn an_acknowledgment_measures_the_segment_that_it_ends_at() {
        assert_eq!(
            rtt_ms(two().acknowledge(2000, None, 10 * MS, None)),
            Some(9)
        );
        assert_eq!(
            rtt_ms(two().acknowledge(1000, None, 10 * MS, None)),
            Some(10)
        );
        assert_eq!(rtt_ms(two().acknowledge(1500, None, 10 * MS, None)), None);
    }

    #[test]
    fn a_segment_sent_twice_measures_only_where_an_echo_tells_which() {
        let mut again = two();
        assert_eq!(again.resend(1000, 2000, sent(5)), Some(MS));
        assert_eq!(again.resend(1000, 2000, sent(7)), Some(5 * MS));
        for (tsecr, rtt) in [
            (None, None),
            (Some(7), Some(3)),
            (Some(1), Some(9)),
            (Some(5), None),
        ] {
            let mut records = two();
            records.resend(1000, 2000, sent(5));
            records.resend(1000, 2000, sent(7));
            assert_eq!(rtt_ms(records.acknowledge(2000, tsecr, 10 * MS, None)), rtt);
        }
        // What it acknowledges beside was sent after it.
        again.resend(0, 1000, sent(8));
        again.push(2000, 3000, sent(7), 0);
        assert_eq!(rtt_ms(again.acknowledge(3000, None, 10 * MS, None)), None);
        assert!(again.again.is_empty());
    }

    #[test]
    fn a_block_measures_its_youngest_segment() {
        let mut records = two();
        assert_eq!(rtt_ms(records.sack(1000, 1000, 2000, 10 * MS)), Some(9));
        assert_eq!(rtt_ms(records.sack(1000, 1000, 2000, 20 * MS)), None);
        assert_eq!(rtt_ms(records.acknowledge(2000, None, 30 * MS, None)), None);
    }

    #[test]
    fn a_lone_segment_answered_late_may_have_met_a_timer() {
        for (time_ms, delayed) in [(30, false), (37, true)] {
            let mut records = Records::default();
            records.push(0, 1000, sent(0), 0);
            let sample = records.acknowledge(1000, None, time_ms * MS, Some(10 * MS));
            assert_eq!(sample.map(|sample| sample.maybe_delayed), Some(delayed));
        }
    }
}
