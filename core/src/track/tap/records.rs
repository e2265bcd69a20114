//! # Records
//! Segments that passed the tap and are not acknowledged yet, and the RTTs that acknowledgments measure.

use std::collections::{BTreeMap, VecDeque};

/// One RTT measurement, from the tap to the receiver and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// Capture time of the segment, ns.
    pub sent_ns: i64,
    /// Time from the segment to its acknowledgment, both at the tap, ns.
    pub rtt_ns: i64,
    /// Number of the round in which the segment was sent.
    pub round: u32,
    /// May it include the delayed-ACK timer (RFC 9293 section 3.8.6.3): was a lone segment acknowledged late?
    pub maybe_delayed: bool,
}

/// A range of sequence numbers as it first passed the tap. The struct is small, because there is one for each segment
/// in flight.
#[derive(Debug, Clone, Copy)]
struct Record {
    start: i64,
    time_ns: i64,
    length: u32,
    round: u32,
    tsval: u32,
    has_tsval: bool,
    retransmitted: bool,
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
            has_tsval: stamp.tsval.is_some(),
            retransmitted: false,
            sacked: false,
        }
    }

    fn end(&self) -> i64 {
        self.start + i64::from(self.length)
    }

    /// Returns when the first copy passed the tap.
    fn first_sent(&self) -> Stamp {
        Stamp {
            time_ns: self.time_ns,
            tsval: self.has_tsval.then_some(self.tsval),
        }
    }
}

/// When a segment passed the tap, by the tap's clock and by the timestamp clock of its sender.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// Capture time, ns.
    pub time_ns: i64,
    /// TSval (RFC 7323); `None` without the option.
    pub tsval: Option<u32>,
}

/// The records of one direction, in the order of their sequence numbers.
#[derive(Debug, Default)]
pub struct Records {
    records: VecDeque<Record>,
    /// When each retransmitted record was last sent, by its start.
    last_retransmission: BTreeMap<i64, Stamp>,
}

impl Records {
    /// Maximum number of records; the oldest are dropped. So many unacknowledged segments mean that only one direction
    /// was captured.
    const MAX_RECORDS: usize = 1 << 17;
    /// A lone segment acknowledged this much later than the minimum RTT may have met the delayed-ACK timer. The timer
    /// is 40 ms on Linux (`TCP_DELACK_MIN`) and longer elsewhere.
    const DELAYED_ACK_NS: i64 = 25_000_000;

    /// Adds a record of `start..end`, which lies above all data sent before.
    #[inline]
    pub fn push(&mut self, start: i64, end: i64, stamp: Stamp, round: u32) {
        self.make_room();
        self.records
            .push_back(Record::new(start, end, stamp, round));
    }

    /// Adds a record of `start..end`, which the tap had not seen. It is `retransmitted` if its first copy was lost
    /// before the tap.
    pub fn insert(&mut self, start: i64, end: i64, stamp: Stamp, round: u32, retransmitted: bool) {
        self.make_room();
        let place = self.records.partition_point(|r| r.start < start);
        let record = Record {
            retransmitted,
            ..Record::new(start, end, stamp, round)
        };
        self.records.insert(place, record);
    }

    fn make_room(&mut self) {
        if self.records.len() >= Self::MAX_RECORDS {
            self.records.pop_front();
        }
    }

    /// Marks the records of `start..end` as retransmitted; returns the capture time of the copy before, ns.
    pub fn retransmit(&mut self, start: i64, end: i64, stamp: Stamp) -> Option<i64> {
        let first = self.records.partition_point(|r| r.end() <= start);
        let mut previous_ns = None;
        for record in (self.records.range_mut(first..)).take_while(|r| r.start < end) {
            let before = self.last_retransmission.insert(record.start, stamp);
            previous_ns.get_or_insert(before.unwrap_or(record.first_sent()).time_ns);
            record.retransmitted = true;
            record.sacked = false; // the next acknowledgment may answer this copy
        }
        previous_ns
    }

    /// Returns the capture time of the lowest record that begins at or above `start`, ns.
    #[must_use]
    pub fn time_above_ns(&self, start: i64) -> Option<i64> {
        let passed = self.records.partition_point(|r| r.start < start);
        self.records.get(passed).map(|record| record.time_ns)
    }

    /// Removes the records that `ack` covers; returns the RTT, if this acknowledgment measures one.
    ///
    /// Karn's rule (RFC 6298 section 3) applies as tcptrace refines it. The acknowledgment must end at a segment's end,
    /// and that segment must have been sent once. No other segment that it covers may have been sent later. With
    /// timestamps, TSecr identifies the acknowledged copy, so a retransmitted segment measures, too. `rtt_min_ns` is
    /// the minimum RTT so far.
    #[inline]
    pub fn acknowledge(
        &mut self,
        ack: i64,
        tsecr: Option<u32>,
        time_ns: i64,
        rtt_min_ns: Option<i64>,
    ) -> Option<RttSample> {
        let mut newest = None;
        let mut count = 0;
        let mut latest_ns = i64::MIN;
        while let Some(&record) = self.records.front()
            && record.end() <= ack
        {
            self.records.pop_front();
            if !record.sacked {
                latest_ns = latest_ns.max(self.last_sent(&record).time_ns);
                newest = Some(record);
            }
            count += 1;
        }
        let answered = newest
            .filter(|record| record.end() == ack)
            .and_then(|record| {
                Some((self.acked_copy_ns(&record, latest_ns, tsecr)?, record.round))
            });
        if !self.last_retransmission.is_empty() {
            self.forget_acknowledged();
        }
        let (sent_ns, round) = answered?;
        let rtt_ns = time_ns - sent_ns;
        if rtt_ns < 0 {
            return None; // the acknowledgment was captured before its segment
        }
        let lone = count == 1 && self.records.is_empty();
        let late = rtt_min_ns.is_some_and(|rtt_min_ns| rtt_ns > rtt_min_ns + Self::DELAYED_ACK_NS);
        Some(RttSample {
            sent_ns,
            rtt_ns,
            round,
            maybe_delayed: lone && late,
        })
    }

    /// Forgets retransmissions of records that were removed.
    #[cold]
    fn forget_acknowledged(&mut self) {
        let first = self.records.front().map_or(i64::MAX, |record| record.start);
        while self
            .last_retransmission
            .first_key_value()
            .is_some_and(|(&start, _)| start < first)
        {
            self.last_retransmission.pop_first();
        }
    }

    /// Returns when the last copy passed the tap.
    fn last_sent(&self, record: &Record) -> Stamp {
        let last = record
            .retransmitted
            .then(|| self.last_retransmission.get(&record.start));
        last.flatten().copied().unwrap_or(record.first_sent())
    }

    /// Returns when the copy that an acknowledgment answers was sent, ns; `None` if that is ambiguous. `latest_ns` is
    /// the last time at which any segment that it covers was sent.
    #[inline]
    fn acked_copy_ns(&self, record: &Record, latest_ns: i64, tsecr: Option<u32>) -> Option<i64> {
        let first = record.first_sent();
        if !record.retransmitted {
            return (latest_ns <= first.time_ns).then_some(first.time_ns);
        }
        let last = self.last_sent(record);
        if first.tsval == last.tsval || tsecr.is_none() {
            None
        } else if tsecr == first.tsval {
            Some(first.time_ns)
        } else {
            (tsecr == last.tsval).then_some(last.time_ns)
        }
    }

    /// Marks the records that a SACK block covers; those up to `sacked_until` have long been marked. Returns the RTT of
    /// the highest newly marked segment that was sent once.
    pub fn sack(
        &mut self,
        start: i64,
        sacked_until: i64,
        end: i64,
        time_ns: i64,
    ) -> Option<RttSample> {
        let first = self
            .records
            .partition_point(|r| r.start < start || r.end() <= sacked_until);
        let mut highest: Option<Record> = None;
        for record in (self.records.range_mut(first..)).take_while(|r| r.end() <= end) {
            if !record.sacked && !record.retransmitted {
                highest = Some(*record);
            }
            record.sacked = true;
        }
        let record = highest?;
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
    fn a_retransmitted_segment_measures_only_if_tsecr_identifies_the_copy() {
        let mut records = two();
        assert_eq!(records.retransmit(1000, 2000, sent(5)), Some(MS));
        assert_eq!(records.retransmit(1000, 2000, sent(7)), Some(5 * MS));
        for (tsecr, rtt) in [
            (None, None),
            (Some(7), Some(3)),
            (Some(1), Some(9)),
            (Some(5), None),
        ] {
            let mut records = two();
            records.retransmit(1000, 2000, sent(5));
            records.retransmit(1000, 2000, sent(7));
            assert_eq!(rtt_ms(records.acknowledge(2000, tsecr, 10 * MS, None)), rtt);
        }
        // Another segment that it acknowledges was sent later.
        records.retransmit(0, 1000, sent(8));
        records.push(2000, 3000, sent(7), 0);
        assert_eq!(rtt_ms(records.acknowledge(3000, None, 10 * MS, None)), None);
        assert!(records.last_retransmission.is_empty());
    }

    #[test]
    fn a_sack_block_measures_its_highest_segment() {
        let mut records = two();
        assert_eq!(rtt_ms(records.sack(1000, 1000, 2000, 10 * MS)), Some(9));
        assert_eq!(rtt_ms(records.sack(1000, 1000, 2000, 20 * MS)), None);
        assert_eq!(rtt_ms(records.acknowledge(2000, None, 30 * MS, None)), None);
    }

    #[test]
    fn a_lone_segment_acknowledged_late_may_include_a_delayed_ack() {
        for (time_ms, delayed) in [(30, false), (37, true)] {
            let mut records = Records::default();
            records.push(0, 1000, sent(0), 0);
            let sample = records.acknowledge(1000, None, time_ms * MS, Some(10 * MS));
            assert_eq!(sample.map(|sample| sample.maybe_delayed), Some(delayed));
        }
    }
}
