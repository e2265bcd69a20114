//! # Refusals
//! ICMP error messages about TCP flows: who did not deliver a flow's packets, and why.

use super::at::At;
use crate::decode::{Endpoint, Quoted, Refusal};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;

/// Packets of one flow that one host refused for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedPackets {
    /// Address that sent the error messages.
    pub reporter: IpAddr,
    /// Sender of the refused packets.
    pub sender: Endpoint,
    /// Receiver of the refused packets.
    pub receiver: Endpoint,
    /// Why they were refused.
    pub refusal: Refusal,
    /// Largest packet that the next link carries by the strictest message, in bytes; 0 where none says.
    pub mtu: u32,
    /// Number of the messages.
    pub packets: i64,
    /// Payload of the refused packets, in bytes.
    pub payload_bytes: i64,
    /// Frame of the first message.
    pub first_frame: u64,
    /// Frame of the last message.
    pub last_frame: u64,
}

/// All refused packets of a capture.
#[derive(Debug, Default)]
pub struct Refusals {
    places: HashMap<(IpAddr, Endpoint, Endpoint, Refusal), usize, RandomState>,
    rows: Vec<RefusedPackets>,
}

impl Refusals {
    /// Maximum number of rows; a flood of messages brings more.
    const MAX_ROWS: usize = 1 << 16;

    /// Counts an error message.
    #[cold]
    pub fn take(&mut self, quoted: &Quoted<'_>, at: At) {
        let segment = quoted.tcp.segment();
        let (reporter, refusal, mtu) = (quoted.reporter(), quoted.refusal(), quoted.mtu());
        let (sender, receiver) = (segment.source, segment.destination);
        let key = (reporter, sender, receiver, refusal);
        let place = self.places.get(&key).copied().unwrap_or(self.rows.len());
        if place == Self::MAX_ROWS {
            return;
        }
        if place == self.rows.len() {
            self.places.insert(key, place);
            self.rows.push(RefusedPackets {
                reporter,
                sender,
                receiver,
                refusal,
                mtu,
                packets: 0,
                payload_bytes: 0,
                first_frame: at.frame,
                last_frame: at.frame,
            });
        }
        let row = &mut self.rows[place];
        row.packets += 1;
        row.payload_bytes += i64::from(segment.payload_bytes);
        row.last_frame = at.frame;
        if mtu > 0 {
            row.mtu = if row.mtu == 0 { mtu } else { row.mtu.min(mtu) };
        }
    }

    /// Returns the rows in the order of their first messages.
    #[must_use]
    pub fn rows(&self) -> &[RefusedPackets] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Packet, Path, decode};

    /// Returns a message about a packet of 40 bytes, with this next-hop MTU.
    fn message(mtu: u8) -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0, 0, 68, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1,
        ];
        bytes.extend([3, 4, 0, 0, 0, 0, 0, mtu]);
        bytes.extend([
            0x45, 0, 0, 140, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        bytes.extend([
            3, 232, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0,
        ]);
        bytes
    }

    #[test]
    fn messages_of_one_router_about_one_flow_are_one_row() {
        let mut refusals = Refusals::default();
        for (frame, mtu) in [(3, 0), (5, 90), (8, 100)] {
            let bytes = message(mtu);
            let (length, path) = (bytes.len() as u32, &mut Path::default());
            let Ok(Packet::Quoted(quoted)) = decode(101, &bytes, length, 10, path) else {
                panic!("no error message");
            };
            refusals.take(&quoted, At { time_ns: 0, frame });
        }
        let [row] = refusals.rows() else {
            panic!("not one row: {refusals:?}");
        };
        assert_eq!((row.packets, row.payload_bytes, row.mtu), (3, 300, 90));
        assert_eq!((row.first_frame, row.last_frame), (3, 8));
        assert_eq!(row.reporter, IpAddr::from([10, 0, 0, 9]));
    }
}
