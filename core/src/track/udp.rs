//! # UDP
//! UDP flows: counts of the datagrams from one address and port to another. Memory does not grow with a flow's length,
//! and flows beyond a maximum number are left out.

pub(super) mod iperf;

use crate::budget::Budget;
use crate::decode::{Datagram, Endpoint};
use foldhash::fast::RandomState;
use iperf::{IperfReport, Meter};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Whether iperf sent the datagrams.
#[derive(Debug, Clone, Copy)]
enum IperfState {
    /// No datagram was captured yet that could show it.
    Unknown,
    /// All datagrams so far can be iperf's.
    Iperf(Meter),
    /// Another program sent the datagrams.
    Other,
}

/// Datagrams from one address and port to another.
#[derive(Debug, Clone, Copy)]
pub struct DatagramFlow {
    /// Address and port of the sender.
    pub sender: Endpoint,
    /// Address and port of the receiver.
    pub receiver: Endpoint,
    /// Number of captured datagrams.
    pub packets: i64,
    /// Payload of the captured datagrams, in bytes.
    pub payload_bytes: i64,
    /// Time of the earliest datagram, in ns since the epoch.
    pub start_ns: i64,
    /// Time of the latest datagram, in ns since the epoch.
    pub end_ns: i64,
    iperf: IperfState,
}

impl DatagramFlow {
    /// Payload of the datagrams that both ends of iperf3 exchange before the test; such datagrams are not measured.
    const GREETING_BYTES: u32 = 4;

    const fn new(datagram: &Datagram, time_ns: i64) -> Self {
        Self {
            sender: datagram.source,
            receiver: datagram.destination,
            packets: 0,
            payload_bytes: 0,
            start_ns: time_ns,
            end_ns: time_ns,
            iperf: IperfState::Unknown,
        }
    }

    /// Counts the next datagram of the flow.
    fn take(&mut self, datagram: &Datagram, time_ns: i64) {
        self.packets += 1;
        self.payload_bytes += i64::from(datagram.payload_bytes);
        self.start_ns = self.start_ns.min(time_ns);
        self.end_ns = self.end_ns.max(time_ns);
        if datagram.payload_bytes == Self::GREETING_BYTES {
            return;
        }
        let fits = match (&mut self.iperf, &datagram.head) {
            (IperfState::Iperf(meter), Some(head)) => meter.take(head, time_ns),
            (IperfState::Unknown, Some(head)) => {
                let meter = Meter::begin(head, time_ns);
                self.iperf = meter.map_or(IperfState::Other, IperfState::Iperf);
                true
            }
            _ => false,
        };
        if !fits {
            self.iperf = IperfState::Other;
        }
    }

    /// Returns the report of an iperf server at the tap; `None` where iperf did not send the datagrams. See
    /// [`Meter::report`].
    #[must_use]
    pub fn report(&self, capture_ns: i64) -> Option<IperfReport> {
        match &self.iperf {
            IperfState::Iperf(meter) => meter.report(capture_ns),
            IperfState::Unknown | IperfState::Other => None,
        }
    }
}

/// All UDP flows of a capture.
#[derive(Debug)]
pub struct Datagrams {
    by_ends: HashMap<(Endpoint, Endpoint), usize, RandomState>,
    flows: Vec<DatagramFlow>,
    max: usize,
    left_out: u64,
}

impl Default for Datagrams {
    fn default() -> Self {
        Self::new(Budget::DEFAULT.connections)
    }
}

impl Datagrams {
    /// Returns no flows yet, of which there will be `max` at most.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            by_ends: HashMap::default(),
            flows: Vec::new(),
            max,
            left_out: 0,
        }
    }

    /// Counts the next datagram of the capture.
    pub fn take(&mut self, datagram: &Datagram, time_ns: i64) {
        let next = self.flows.len();
        let index = match self.by_ends.entry((datagram.source, datagram.destination)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if next >= self.max => {
                self.left_out += 1;
                return;
            }
            Entry::Vacant(new) => {
                self.flows.push(DatagramFlow::new(datagram, time_ns));
                *new.insert(next)
            }
        };
        self.flows[index].take(datagram, time_ns);
    }

    /// Returns the number of datagrams of flows that were left out.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the flows in the order of their first datagrams.
    #[must_use]
    pub fn flows(&self) -> &[DatagramFlow] {
        &self.flows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn datagram(from: u16, to: u16, payload_bytes: u32, head: Option<[u8; 16]>) -> Datagram {
        let end = |port| Endpoint {
            address: [127, 0, 0, 1].into(),
            port,
        };
        Datagram {
            source: end(from),
            destination: end(to),
            payload_bytes,
            head,
        }
    }

    #[test]
    fn each_direction_is_a_flow() {
        let mut all = Datagrams::default();
        for (from, to, bytes, time_ns) in
            [(1, 2, 10, 5), (2, 1, 7, 6), (1, 2, 20, 9), (1, 2, 30, 4)]
        {
            all.take(&datagram(from, to, bytes, None), time_ns);
        }
        let counted: Vec<_> = all
            .flows()
            .iter()
            .map(|f| {
                (
                    f.sender.port,
                    f.packets,
                    f.payload_bytes,
                    f.start_ns,
                    f.end_ns,
                )
            })
            .collect();
        assert_eq!(counted, [(1, 3, 60, 4, 9), (2, 1, 7, 6, 6)]);
        assert!(all.flows().iter().all(|flow| flow.report(0).is_none()));
    }

    #[test]
    fn flows_beyond_the_maximum_are_left_out() {
        let mut all = Datagrams::new(2);
        for from in [1, 2, 3, 1, 3] {
            all.take(&datagram(from, 9, 10, None), 0);
        }
        let counted: Vec<_> = all.flows().iter().map(|flow| flow.packets).collect();
        assert_eq!((counted, all.left_out()), (vec![2, 1], 2));
    }

    #[test]
    fn iperf3_handshakes_are_ignored_and_other_datagrams_end_the_measurement() {
        let stamp = |number: u8| {
            let mut head = [0; 16];
            (head[3], head[7], head[11]) = (1, number, number);
            Some(head)
        };
        let report = |other: Option<[u8; 16]>| {
            let mut all = Datagrams::default();
            all.take(&datagram(1, 2, 4, None), 0);
            for number in 1..=4 {
                let time_ns = i64::from(number) * 1000;
                all.take(&datagram(1, 2, 100, stamp(number)), time_ns);
            }
            all.take(&datagram(1, 2, 100, other), 5000);
            all.flows()[0].report(0)
        };
        assert!(report(stamp(5)).is_some());
        assert!(report(None).is_none());
        assert!(report(Some([0xff; 16])).is_none());
    }

    /// Words of a head. Small ones are more frequent than by chance, so that they can be numbers and parts of a second.
    fn head() -> impl Strategy<Value = [u8; 16]> {
        let word = prop_oneof![0..3_u32, any::<u32>()];
        prop::array::uniform4(word).prop_map(|words| {
            let mut head = [0; 16];
            for (to, from) in head.chunks_exact_mut(4).zip(words) {
                to.copy_from_slice(&from.to_be_bytes());
            }
            head
        })
    }

    proptest! {
        #[test]
        fn arbitrary_datagrams_are_counted_without_panic(
            heads in prop::collection::vec((prop::option::of(head()), 0..20_u32, 0..1_i64 << 62), 1..20),
            capture_ns in 0..1_i64 << 62,
        ) {
            let mut all = Datagrams::default();
            for &(head, payload_bytes, time_ns) in &heads {
                all.take(&datagram(1, 2, payload_bytes, head), time_ns);
            }
            let flow = &all.flows()[0];
            prop_assert_eq!(flow.packets, heads.len() as i64);
            prop_assert!(flow.start_ns <= flow.end_ns);
            if let Some(report) = flow.report(capture_ns) {
                prop_assert!(report.lost >= 0 && report.reordered < flow.packets && report.jitter_ns >= 0);
            }
        }
    }
}
