//! # Cooked hosts
//! Which addresses are those of the host that captured, by the packet types of Linux's cooked captures.

use crate::decode::INITIAL_TTLS;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;

/// Counts of the packets that came from each address, in frames with a packet type.
#[derive(Debug, Default)]
pub struct CookedHosts {
    /// For each source address: packets that the capturing host made, and others.
    counts: HashMap<IpAddr, [u64; 2], RandomState>,
}

impl CookedHosts {
    /// Maximum number of addresses counted; a flood brings more.
    const MAX_ADDRESSES: usize = 1 << 16;

    /// Counts a packet from `source` with this time to live, which the capturing host `sent` or received.
    #[cold]
    pub fn take(&mut self, source: IpAddr, ttl: u8, sent: bool) {
        let made = sent && INITIAL_TTLS.contains(&ttl);
        if self.counts.len() < Self::MAX_ADDRESSES || self.counts.contains_key(&source) {
            self.counts.entry(source).or_default()[usize::from(!made)] += 1;
        }
    }

    /// Returns the addresses of the capturing host, in ascending order: those whose packets it made, all of them.
    #[must_use]
    pub fn own(&self) -> Vec<IpAddr> {
        let made = self.counts.iter().filter(|(_, [_, others])| *others == 0);
        let mut own: Vec<IpAddr> = made.map(|(&address, _)| address).collect();
        own.sort_unstable();
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_host_makes_its_packets_and_receives_none_from_itself() {
        let [own, far, forwarded, container] = [1, 2, 3, 4].map(|last| [10, 0, 0, last].into());
        let mut hosts = CookedHosts::default();
        hosts.take(own, 64, true);
        hosts.take(own, 64, true);
        hosts.take(far, 57, false);
        hosts.take(forwarded, 63, true);
        // A packet of a container is received on its bridge, and sent on the next interface.
        hosts.take(container, 64, false);
        hosts.take(container, 64, true);
        assert_eq!(hosts.own(), [own]);
    }
}
