//! # Undecoded
//! Reasons why a frame is neither a TCP segment nor a UDP datagram. Every such frame is counted under one of them.

macro_rules! reasons {
    ($($name:ident => $reason:literal,)*) => {
        /// Why a frame is neither a TCP segment nor a UDP datagram.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Undecoded {
            $(#[doc = $reason] $name,)*
        }

        impl Undecoded {
            /// All reasons, each at its [`Undecoded::index`].
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the reason as text for reports.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self {
                    $(Self::$name => $reason,)*
                }
            }
        }
    };
}

reasons! {
    LinkType => "link type not supported",
    Link => "malformed link header",
    WifiNoData => "802.11 management, control or null",
    WifiProtected => "802.11 protected",
    WifiFragment => "802.11 fragment",
    WifiAggregate => "802.11 A-MSDU",
    WifiBadFcs => "802.11 bad FCS",
    Arp => "ARP",
    MacSec => "encrypted (MACsec)",
    NotIp => "not IP",
    Ipv4 => "malformed IPv4 header",
    Ipv6 => "malformed IPv6 header",
    Ipv4Fragment => "IPv4 fragment",
    Ipv6Fragment => "IPv6 fragment",
    ArcnetFragment => "ARCNET fragment",
    CapwapFragment => "CAPWAP fragment",
    Dtls => "encrypted (DTLS)",
    Udp => "malformed UDP header",
    Icmp => "ICMP",
    Icmpv6 => "ICMPv6",
    Esp => "encrypted (ESP)",
    IpProtocol => "other IP protocol",
    Tunnel => "malformed or unsupported tunnel header",
    Depth => "tunnel depth exceeded",
    Tcp => "malformed TCP header",
    Cut => "cut before the TCP header",
}

impl Undecoded {
    /// Number of reasons, which is the length of an array with a count for each.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns the index of this reason in an array of [`Undecoded::COUNT`] counts.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed_by_their_index() {
        for (index, reason) in Undecoded::ALL.iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }
}
