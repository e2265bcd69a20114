//! # Tap
//! One direction of data as the tap saw it: new, retransmitted, reordered or copied segments, and the RTTs that
//! acknowledgments measure.

mod copies;
pub(super) mod observed;
pub(super) mod ranges;
pub(super) mod records;
mod sequence;

use super::event::Kind;
use super::null::{NULL, known, least};
use crate::decode::{Flags, Segment};
use copies::Copies;
use observed::ObservedSegment;
use ranges::Ranges;
use records::{Records, RttSample};
use sequence::SequenceSpace;

/// The effect of a segment on the data stream.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Kind of its event.
    pub kind: Kind,
    /// First relative sequence number.
    pub start: i64,
    /// One past the last relative sequence number; SYN and FIN count as one each.
    pub end: i64,
    /// Payload bytes not seen before.
    pub new_bytes: i64,
    /// When its bytes passed the tap before, ns; `None` if they did not.
    pub previous_ns: Option<i64>,
    /// Bytes that were counted as unseen, because their acknowledgment was captured a moment before them.
    pub captured_late_bytes: i64,
    /// Is it the first captured segment, far beyond all that was acknowledged before?
    pub begins_far: bool,
    /// Bytes that were counted as unseen, and were sent before the capture began.
    pub sent_before_bytes: i64,
}

/// The effect of an acknowledgment on the data stream.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    /// Cumulative acknowledgment number, relative.
    pub ack: i64,
    /// Bytes by which SND.UNA advanced at the tap.
    pub advanced: i64,
    /// Those of them that the capture holds.
    pub captured: i64,
    /// Bytes newly reported by SACK.
    pub sacked: i64,
    /// Bytes acknowledged that did not pass the tap: the capture dropped them, or the path goes another way.
    pub unseen_bytes: i64,
    /// The RTT measurement, if this acknowledgment allows one.
    pub sample: Option<RttSample>,
}

/// Returns the kind of a SYN; a segment without SYN is of the kind `otherwise`.
fn kind_of(flags: Flags, otherwise: Kind) -> Kind {
    match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
        (true, true) => Kind::SynAck,
        (true, false) => Kind::Syn,
        _ => otherwise,
    }
}

/// The data stream of one direction at the tap.
#[derive(Debug)]
pub struct Tap {
    /// Sequence space of the direction.
    pub space: SequenceSpace,
    /// Sequence number from which on the capture holds data or lacks them; bytes below were sent before it began.
    /// [`NULL`] while unknown.
    first: i64,
    /// When that became known, ns; [`NULL`] before.
    first_ns: i64,
    /// Start of the first captured data, if acknowledgments came before it; bytes below that the capture lacks were in
    /// flight as it began. [`NULL`] otherwise.
    begin: i64,
    /// SND.NXT; [`NULL`], which is less than any number, while unknown.
    snd_nxt: i64,
    /// SND.UNA; [`NULL`] while unknown.
    snd_una: i64,
    records: Records,
    /// Bytes below SND.NXT that the tap has not seen.
    holes: Ranges,
    /// Bytes above SND.UNA that SACK reported.
    sacked: Ranges,
    /// End of the last zero-window probe: its byte passed the tap and may be acknowledged.
    probe_end: i64,
    /// IP identification and TSval of the segment that last advanced SND.NXT. Those of retransmissions are newer, those
    /// of reordered segments older.
    newest_ids: Option<(Option<u16>, Option<u32>)>,
    /// When a pure acknowledgment last showed that data below SND.NXT were sent, ns; [`NULL`] before.
    shown_ns: i64,
    /// Data that such an acknowledgment overtook: its IP identification follows that of the packet before.
    overtaken: (i64, i64),
    /// IP identification of the last packet of the direction; `None` without one.
    pub last_identification: Option<u16>,
    /// Bytes that were acknowledged before they were captured.
    acked_unseen: Ranges,
    /// When the last acknowledgment of uncaptured bytes passed the tap, ns.
    acked_unseen_ns: i64,
    /// Bytes below SND.UNA that were not captured, with those that were in flight as the capture began.
    unseen_bytes: i64,
    /// End of the captured data: SND.NXT, unless acknowledgments went beyond it; [`NULL`] while unknown.
    sent_end: i64,
    /// Recent packets, to detect copies.
    pub copies: Copies,
    /// Minimum RTT from the tap to the receiver, delayed acknowledgments left out, ns; [`NULL`] while unknown.
    pub rtt_min_ns: i64,
    /// A segment that fills a hole sooner than this was overtaken, ns; see [`Self::set_path_rtt`].
    reorder_timeout_ns: i64,
    /// Did the handshake measure the path's RTT?
    has_path_rtt: bool,
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            space: SequenceSpace::default(),
            first: NULL,
            first_ns: NULL,
            begin: NULL,
            snd_nxt: NULL,
            snd_una: NULL,
            records: Records::default(),
            holes: Ranges::default(),
            sacked: Ranges::default(),
            probe_end: 0,
            newest_ids: None,
            shown_ns: NULL,
            overtaken: (NULL, NULL),
            last_identification: None,
            acked_unseen: Ranges::default(),
            acked_unseen_ns: 0,
            unseen_bytes: 0,
            sent_end: NULL,
            copies: Copies::default(),
            rtt_min_ns: NULL,
            reorder_timeout_ns: Self::DEFAULT_REORDER_NS,
            has_path_rtt: false,
        }
    }
}

impl Tap {
    /// Packets from several queues of one host may be captured out of order by up to this, ns (Linux
    /// `net.core.netdev_budget_usecs`: 2 ms). A retransmission hardly ever follows its acknowledgment so closely.
    const CAPTURE_REORDER_NS: i64 = 2_000_000;
    /// Longest time for which data may be in flight, ns. While no RTT is known, a sender retransmits after 1 s (RFC 6298
    /// section 2.1).
    pub const IN_FLIGHT_NS: i64 = 1_000_000_000;
    /// Bytes that hardly any window reaches over. By default, receivers offer at most 6 MiB (Linux `tcp_rmem`) or 16 MiB
    /// (Windows).
    const FAR_BYTES: i64 = 1 << 24;
    /// Reordering timeout while no RTT is known, ns: 3 ms, as in Wireshark.
    const DEFAULT_REORDER_NS: i64 = 3_000_000;

    /// Sets the maximum number of ranges of every set; see [`Ranges::set_max`].
    pub fn set_max_ranges(&mut self, max: usize) {
        for ranges in [&mut self.holes, &mut self.sacked, &mut self.acked_unseen] {
            ranges.set_max(max);
        }
    }

    /// Returns the number of merged ranges in all sets; see [`Ranges::merged`].
    #[must_use]
    pub fn merged_ranges(&self) -> u32 {
        let [a, b, c] = [&self.holes, &self.sacked, &self.acked_unseen].map(Ranges::merged);
        a.saturating_add(b).saturating_add(c)
    }

    /// Sets the RTT of the whole path, ns. No retransmission comes sooner; half of it allows for error. Without the
    /// handshake the RTT may lack a part of the path, so it only lengthens the default timeout.
    pub fn set_path_rtt(&mut self, rtt_ns: i64, by_handshake: bool) {
        let least_ns = if by_handshake {
            0
        } else {
            Self::DEFAULT_REORDER_NS
        };
        self.reorder_timeout_ns = (rtt_ns / 2).max(least_ns);
        self.has_path_rtt = by_handshake;
    }

    /// Returns SND.NXT at the tap; `None` while unknown.
    #[must_use]
    pub fn snd_nxt(&self) -> Option<i64> {
        known(self.snd_nxt)
    }

    /// Returns SND.UNA at the tap; `None` while unknown.
    #[must_use]
    pub fn snd_una(&self) -> Option<i64> {
        known(self.snd_una)
    }

    /// Returns SND.NXT - SND.UNA at the tap, in bytes; `None` while unknown.
    #[must_use]
    pub fn in_flight(&self) -> Option<i64> {
        Some((self.snd_nxt()? - self.snd_una()?).max(0))
    }

    /// Is any data in flight at the tap?
    #[must_use]
    pub fn is_outstanding(&self) -> bool {
        self.snd_una != NULL && self.snd_nxt > self.snd_una
    }

    /// Is everything acknowledged up to `sequence`, and nothing sent beyond?
    #[must_use]
    pub fn is_idle_at(&self, sequence: i64) -> bool {
        self.snd_una == sequence && self.snd_nxt == sequence
    }

    /// Is everything acknowledged that was sent? True while nothing was sent.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.snd_una >= self.snd_nxt
    }

    /// Returns the end of the highest range that SACK reported; `None` without one.
    #[must_use]
    pub fn sacked_end(&self) -> Option<i64> {
        self.sacked.end()
    }

    /// Is all of `start..end` acknowledged, by number or by SACK?
    #[must_use]
    pub fn is_delivered(&self, start: i64, end: i64) -> bool {
        let start = start.max(self.snd_una);
        start >= end || self.sacked.covered(start, end) == end - start
    }

    /// Returns the number of captured bytes known to have arrived, by SND.UNA or by SACK, counted from relative 0.
    /// Acknowledged bytes that the capture lacks arrived at an unknown time, so they show no rate.
    #[must_use]
    pub fn delivered(&self) -> i64 {
        let arrived = self.snd_una.max(self.first).max(0) + self.sacked.bytes();
        arrived - self.unseen_bytes - self.sacked.overlap(&self.holes)
    }

    /// Returns the number of acknowledged bytes that lie beyond all captured data: nothing shows that they were sent.
    #[must_use]
    pub fn unsent_bytes(&self) -> i64 {
        let end = self.sent_end.max(self.first);
        self.snd_una
            .saturating_sub(end)
            .clamp(0, self.unseen_bytes.max(0))
    }

    /// Is the relative number further from SND.NXT than usual windows reach? `true` while SND.NXT is unknown.
    #[inline]
    #[must_use]
    pub fn is_far(&self, number: i64) -> bool {
        number.abs_diff(self.snd_nxt) > Self::FAR_BYTES as u64
    }

    /// Is the relative acknowledgment number below that of the SYN, or further beyond the captured data than any window
    /// reaches? `false` while none was captured.
    #[must_use]
    pub fn is_foreign_ack(&self, ack: i64) -> bool {
        (self.sent_end())
            .is_some_and(|end| !(1..=end.saturating_add(Self::FAR_BYTES)).contains(&ack))
    }

    /// Returns the end of the captured data; `None` while none was captured.
    #[must_use]
    pub fn sent_end(&self) -> Option<i64> {
        known(self.sent_end)
    }

    /// Processes a segment that occupies sequence space or probes, and records it for round `round`. `probe` is the
    /// result of [`Self::probe`].
    #[inline]
    pub fn segment(
        &mut self,
        observed: &ObservedSegment<'_>,
        probe: Option<Kind>,
        round: u32,
    ) -> Arrival {
        let &ObservedSegment {
            segment, sequence, ..
        } = observed;
        let flags = segment.flags;
        let length = i64::from(segment.payload_bytes);
        let control = i64::from(flags.has(Flags::SYN)) + i64::from(flags.has(Flags::FIN));
        let end = sequence + length + control;
        if self.snd_nxt == NULL {
            let mut next = sequence;
            if probe.is_some() {
                // A keep-alive repeats the last byte of what was sent and acknowledged before the capture.
                (next, self.snd_una) = (end, end);
            }
            (self.snd_nxt, self.first) = (next, next);
            self.first_ns = observed.at.time_ns;
        }
        let whole = |kind| Arrival {
            kind,
            start: sequence,
            end,
            new_bytes: length,
            previous_ns: None,
            captured_late_bytes: 0,
            sent_before_bytes: 0,
            begins_far: false,
        };
        if flags.has(Flags::RST) {
            return Arrival {
                new_bytes: 0,
                ..whole(Kind::Rst)
            };
        }
        if let Some(kind) = probe {
            if sequence == self.snd_nxt {
                // A probe counts as sent only once it is acknowledged: the receiver may drop it.
                self.probe_end = end;
            }
            return Arrival {
                new_bytes: 0,
                ..whole(kind)
            };
        }
        if sequence < self.snd_nxt {
            return self.below_snd_nxt(observed, whole(Kind::Data), round);
        }
        if sequence > self.snd_nxt {
            self.holes.add(self.snd_nxt, sequence);
        }
        let begins_far = self.begins_far(sequence);
        let sent_before_bytes = self.begin_data(sequence, observed.at.time_ns);
        self.record_new(sequence, end, observed, round);
        self.newest_ids = Some((segment.identification, observed.tsval));
        Arrival {
            sent_before_bytes,
            begins_far,
            ..whole(kind_of(
                flags,
                if length == 0 { Kind::Fin } else { Kind::Data },
            ))
        }
    }

    /// Notes that the sender had sent all data below the sequence number of this pure acknowledgment: it is the sender's
    /// SND.NXT (RFC 9293 section 3.10.7.4). Those that did not pass the tap were lost before it, or pass it later.
    ///
    /// Where its IP identification follows that of the packet before, none left the sender between the two. It overtook
    /// the data in a queue that gave the identifications.
    pub fn show_sent(&mut self, observed: &ObservedSegment<'_>) {
        if self.follows_last(observed.segment) {
            self.overtaken = (self.snd_nxt, observed.sequence);
        }
        self.holes.add(self.snd_nxt, observed.sequence);
        self.snd_nxt = observed.sequence;
        self.space.advance(observed.sequence);
        self.shown_ns = observed.at.time_ns;
        self.newest_ids = Some((observed.segment.identification, observed.tsval));
    }

    /// Lets `raw` be the next number: that of another connection between the same ends. Nothing of the one before is in
    /// flight any more, and no byte between the two was missed.
    pub fn renumber(&mut self, raw: u32) {
        self.space.renumber(raw, self.snd_nxt);
        self.snd_una = self.snd_nxt;
        self.records = Records::default();
        for ranges in [&mut self.holes, &mut self.sacked, &mut self.acked_unseen] {
            ranges.clear();
        }
    }

    /// Is the IP identification of a packet the one after that of the packet before?
    fn follows_last(&self, segment: &Segment) -> bool {
        let both = self.last_identification.zip(segment.identification);
        both.is_some_and(|(last, this)| last != 0 && this == last.wrapping_add(1))
    }

    /// Does the first captured segment lie where no window reaches from all that was acknowledged before? Then those
    /// acknowledgments were not of this data. A device on the way may make some with foreign numbers, which are
    /// dropped (RFC 9293 section 3.10.7.4). All bytes below were sent before the capture.
    #[inline]
    fn begins_far(&mut self, sequence: i64) -> bool {
        let far = self.sent_end == NULL && sequence - self.snd_nxt > Self::FAR_BYTES;
        if far {
            (self.first, self.snd_una) = (sequence, sequence);
            self.holes.trim(sequence);
        }
        far
    }

    /// Begins the captured data at `sequence`, if this is the first segment soon after the first acknowledgment. Bytes
    /// below that do not follow were in flight when the capture began; returns how many of them counted as unseen.
    #[inline]
    fn begin_data(&mut self, sequence: i64, time_ns: i64) -> i64 {
        let joined = self.sent_end == NULL && self.first < sequence;
        if !joined || time_ns.saturating_sub(self.first_ns) > Self::IN_FLIGHT_NS {
            return 0;
        }
        self.begin = sequence;
        self.unseen_bytes
    }

    /// Processes a segment that begins below SND.NXT.
    #[cold]
    fn below_snd_nxt(
        &mut self,
        observed: &ObservedSegment<'_>,
        whole: Arrival,
        round: u32,
    ) -> Arrival {
        let Arrival { start, end, .. } = whole;
        let flags = observed.segment.flags;
        let length = whole.new_bytes;
        let (time_ns, next) = (observed.at.time_ns, self.snd_nxt);
        let below = end.min(next);
        if !flags.has(Flags::SYN) && self.was_acknowledged_early(start, below, time_ns) {
            self.unseen_bytes -= below - start;
            self.sent_end = self.sent_end.max(end);
            if end > next {
                self.record_new(next, end, observed, round);
            }
            return Arrival {
                kind: if length == 0 { Kind::Fin } else { Kind::Data },
                captured_late_bytes: below - start,
                ..whole
            };
        }
        let unseen = self.holes.covered(start, below) + (end - next).max(0);
        let fills = unseen == end - start && end <= next;
        let reordered = fills && self.was_reordered(observed);
        self.holes.remove(start, end);
        if end > next {
            self.record_new(next, end, observed, round);
        }
        let mut previous_ns = None;
        if fills {
            // The next acknowledgment answers this segment, not those that waited above the hole.
            (self.records).insert(start, end, observed.stamp(), round, !reordered);
        } else {
            previous_ns = self.records.retransmit(start, end, observed.stamp());
        }
        let kind = if reordered {
            Kind::Reordered
        } else {
            Kind::Retransmission
        };
        Arrival {
            kind: kind_of(flags, kind),
            new_bytes: unseen.min(length),
            previous_ns,
            ..whole
        }
    }

    /// Records data that begins at or above SND.NXT.
    #[inline]
    fn record_new(&mut self, start: i64, end: i64, observed: &ObservedSegment<'_>, round: u32) {
        self.records.push(start, end, observed.stamp(), round);
        self.snd_nxt = end;
        self.sent_end = end;
        self.space.advance(end);
    }

    /// Would an empty segment at `sequence` only ask for an acknowledgment: is it the byte below SND.NXT, with nothing
    /// outstanding?
    #[must_use]
    pub fn is_probe_sequence(&self, sequence: i64) -> bool {
        self.snd_nxt != NULL && self.snd_una >= self.snd_nxt && sequence == self.snd_nxt - 1
    }

    /// Returns the kind of a keep-alive or zero-window probe; `None` for any other segment.
    ///
    /// A probe has at most one byte, and nothing is outstanding. It begins at the byte below SND.NXT, or at SND.NXT
    /// while the window is closed. `window_open` is false where the receiver's window is known to be closed.
    ///
    /// A first captured segment of one byte without PSH is a keep-alive, too. The byte ends no write (RFC 9293 section
    /// 3.9.1.2), and a longer write would have filled the segment.
    #[must_use]
    #[inline]
    pub fn probe(&self, observed: &ObservedSegment<'_>, window_open: bool) -> Option<Kind> {
        let segment = observed.segment;
        let control = Flags::SYN | Flags::FIN | Flags::RST;
        if segment.payload_bytes > 1 || segment.flags.0 & control != 0 {
            return None;
        }
        if self.snd_nxt == NULL {
            let lone = segment.payload_bytes == 1 && !segment.flags.has(Flags::PSH);
            return lone.then_some(Kind::KeepAlive);
        }
        if self.snd_una < self.snd_nxt {
            return None;
        }
        match (self.is_probe_sequence(observed.sequence), window_open) {
            (true, true) => Some(Kind::KeepAlive),
            (true, false) => Some(Kind::ZeroWindowProbe),
            (false, false) if observed.sequence == self.snd_nxt && segment.payload_bytes == 1 => {
                Some(Kind::ZeroWindowProbe)
            }
            _ => None,
        }
    }

    /// Was `start..end` acknowledged within the last 2 ms, but not captured? Captures on two interfaces, or with a
    /// queue for each processor, mix packets of the same moment.
    fn was_acknowledged_early(&mut self, start: i64, end: i64, time_ns: i64) -> bool {
        let near = (time_ns - self.acked_unseen_ns).abs() < Self::CAPTURE_REORDER_NS;
        let is_early = near && start < end && self.acked_unseen.covered(start, end) == end - start;
        if is_early {
            self.acked_unseen.remove(start, end);
        }
        is_early
    }

    /// May data still follow that were acknowledged before they were captured?
    #[must_use]
    #[inline]
    pub fn awaits_late_data(&self, now_ns: i64) -> bool {
        !self.acked_unseen.is_empty()
            && (now_ns - self.acked_unseen_ns).abs() < Self::CAPTURE_REORDER_NS
    }

    /// Notes that `start..end` is acknowledged and was not captured.
    fn note_unseen(&mut self, start: i64, end: i64, time_ns: i64) {
        if start >= end {
            return;
        }
        if (time_ns - self.acked_unseen_ns).abs() >= Self::CAPTURE_REORDER_NS {
            self.acked_unseen.clear();
        }
        self.acked_unseen_ns = time_ns;
        self.acked_unseen.add(start, end);
    }

    /// Returns two numbers of bytes of `una..ack`, which are acknowledged now and not captured: those in flight as the
    /// capture began, and the others.
    #[inline]
    fn unseen_between(&mut self, una: i64, ack: i64, time_ns: i64) -> (i64, i64) {
        if self.holes.is_empty() {
            return (0, 0);
        }
        let before = self.holes.covered(una, ack.min(self.begin));
        let unseen: Vec<_> = self.holes.within(una.max(self.begin), ack).collect();
        for &(start, end) in &unseen {
            self.note_unseen(start, end, time_ns);
        }
        self.holes.trim(ack);
        (before, unseen.iter().map(|(start, end)| end - start).sum())
    }

    /// Was a segment that fills a hole sent before the segments above the hole?
    ///
    /// Data that an acknowledgment overtook were. A retransmission carries a later TSval (RFC 7323 section 3). Within one
    /// tick of that clock, no report of a loss came back from the path's end so soon. Else the IP identification decides
    /// where the sender increments it, else the time. Devices on the path may renumber packets that they put out of order.
    fn was_reordered(&self, observed: &ObservedSegment<'_>) -> bool {
        let (identification, tsval) = self.newest_ids.unwrap_or_default();
        let segment: &Segment = observed.segment;
        let waited = self.overtaken.0 <= observed.sequence && observed.end() <= self.overtaken.1;
        if waited && observed.at.time_ns - self.shown_ns < Self::IN_FLIGHT_NS {
            return true;
        }
        let clocks = tsval.zip(observed.tsval);
        if let Some((newest, this)) = clocks
            && newest != this
        {
            return newest.wrapping_sub(this) < 1 << 31;
        }
        let shown_ns = known(self.shown_ns).filter(|_| observed.end() <= self.snd_nxt);
        let soon = (self.records.time_above_ns(observed.sequence).or(shown_ns))
            .is_some_and(|above_ns| observed.at.time_ns - above_ns < self.reorder_timeout_ns);
        if clocks.is_some() && soon && self.has_path_rtt {
            return true;
        }
        if let (Some(newest), Some(this)) = (identification, segment.identification)
            && newest != 0
            && this != 0
        {
            let behind = newest.wrapping_sub(this);
            if (1..=1000).contains(&behind) {
                return true;
            }
            if (1..=1000).contains(&this.wrapping_sub(newest)) {
                return false;
            }
        }
        soon
    }

    /// Processes an acknowledgment with its SACK blocks, relative and without D-SACK (RFC 2883 section 4).
    pub fn acknowledge(
        &mut self,
        ack: i64,
        blocks: impl Iterator<Item = (i64, i64)>,
        tsecr: Option<u32>,
        time_ns: i64,
    ) -> Acknowledged {
        if self.snd_una == NULL {
            // Data that were captured before waited for it, all bytes below them were sent before the capture, and the
            // SYN has the number 0.
            self.snd_una = if self.sent_end == NULL {
                ack
            } else {
                ack.min(self.first.max(1))
            };
            self.holes.trim(self.snd_una);
        }
        if self.snd_nxt == NULL {
            (self.snd_nxt, self.first) = (ack, ack);
            self.first_ns = time_ns;
        }
        let (una, next) = (self.snd_una, self.snd_nxt);
        let mut unseen_bytes = 0;
        if ack > next {
            unseen_bytes = (ack - next.max(self.probe_end)).max(0);
            self.note_unseen(ack - unseen_bytes, ack, time_ns);
            self.snd_nxt = ack;
            self.space.advance(ack);
        }
        let advanced = (ack - una).max(0);
        let mut sample = None;
        let mut sent_before_bytes = 0;
        if advanced > 0 {
            self.snd_una = ack;
            let unseen;
            (sent_before_bytes, unseen) = self.unseen_between(una, ack, time_ns);
            unseen_bytes += unseen;
            self.sacked.trim(ack);
            let rtt_min_ns = known(self.rtt_min_ns);
            sample = self.records.acknowledge(ack, tsecr, time_ns, rtt_min_ns);
        }
        let mut newly_sacked = 0;
        for (start, end) in blocks {
            let sacked_until = self.sacked.covered_until(start.max(ack));
            let fresh = self.sacked.add(start.max(ack), end);
            newly_sacked += fresh;
            if fresh > 0
                && let Some(measured) = self.records.sack(start, sacked_until, end, time_ns)
                && sample.is_none()
            {
                sample = Some(measured);
            }
        }
        if let Some(RttSample {
            rtt_ns,
            maybe_delayed: false,
            ..
        }) = sample
        {
            self.rtt_min_ns = least(self.rtt_min_ns, rtt_ns);
        }
        self.unseen_bytes += unseen_bytes + sent_before_bytes;
        let before_capture = self.first.saturating_sub(una).clamp(0, advanced) + sent_before_bytes;
        Acknowledged {
            ack,
            advanced,
            captured: (advanced - before_capture - unseen_bytes).max(0),
            sacked: newly_sacked,
            unseen_bytes,
            sample,
        }
    }
}
