//! # Marks
//! What the bytes of a few segments show about the host or the program that sent them.

use super::option_list::{kind, split_value};

/// What only a few segments show, in one word: the layout of a SYN, the cookie of iperf3, or the beginning of a TLS
/// record. It is 0 in all others.
///
/// The order and the padding of a SYN's options differ between TCP stacks. The lowest bits hold [`Marks::OPTIONS`] codes
/// of four bits, each for an option or for a run of no operations; [`Marks::CODES`] has their letters. The number of
/// bytes after the end of the list follows, at most 15, and then single bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Marks(pub u64);

impl Marks {
    /// Letters of the codes, each the initial of its option: end of list, no operation, MSS, window scale, SACK permitted,
    /// timestamps, Fast Open, multipath. `K` is SACK blocks, `?` any other option. `!` is a list that is malformed or cut
    /// by the snaplen; `+` stands for options beyond those that fit.
    pub const CODES: [&'static str; 16] = [
        "", "E", "N", "M", "W", "S", "T", "F", "P", "K", "?", "!", "+", "NN", "NNNN", "NNNNNNNN",
    ];
    /// Number of codes that fit.
    pub const OPTIONS: u32 = 13;
    /// Position of the number of bytes after the end of the list.
    pub const PADDING: u32 = 4 * Self::OPTIONS;
    /// The packet has the flag "don't fragment" (IPv4).
    pub const DONT_FRAGMENT: u64 = 1 << 56;
    /// The packet has an IPv4 header.
    pub const IPV4: u64 = 1 << 57;
    /// The identification is 0 (IPv4).
    pub const IDENTIFICATION_ZERO: u64 = 1 << 58;
    /// The SYN carries payload.
    pub const PAYLOAD: u64 = 1 << 59;
    /// The payload is a cookie of iperf3.
    const IPERF3_COOKIE: u64 = 1 << 60;
    /// The payload is a fatal TLS alert in clear text; the lowest byte is its description.
    const TLS_ALERT: u64 = 1 << 61;
    /// The payload begins with a TLS record of a handshake; the lowest byte is its content type.
    const TLS_HANDSHAKE: u64 = 1 << 62;
    /// The payload begins with a message of HTTP/1 in clear text. The lowest bits are the status of a response; of a
    /// request they are 0, or 1 if it is to a proxy. The payload may also be a reply of FTP; see [`Self::FTP`].
    const HTTP: u64 = 1 << 63;
    /// With [`Self::HTTP`]: the message is a reply of FTP, and the lowest bits are its code.
    const FTP: u64 = 1 << 16;
    /// Least status of a response (RFC 9110 section 15); a request has less.
    const LEAST_STATUS: u16 = 100;
    /// A change of the cipher, as a content type (RFC 5246 section 6.2.1).
    const CHANGE_CIPHER: u8 = 20;
    /// Messages of a handshake, as a content type (RFC 5246 section 6.2.1).
    const HANDSHAKE: u8 = 22;

    /// Which first bytes a message may have that has a mark.
    const INITIALS: [bool; 256] = {
        let mut initials = [false; 256];
        let mut rest: &[u8] = &[
            Self::CHANGE_CIPHER,
            Self::HANDSHAKE,
            b'G',
            b'H',
            b'C',
            b'P',
            b'2',
            b'4',
            b'5',
        ];
        while let [first, others @ ..] = rest {
            initials[*first as usize] = true;
            rest = others;
        }
        initials
    };

    /// Length of iperf3's cookie in bytes, with the NUL that ends it (iperf3's `COOKIE_SIZE`).
    const COOKIE_BYTES: u32 = 37;
    /// Least number of captured bytes of a cookie. So many letters by chance have a probability below 1e-14 in random bytes.
    const LEAST_COOKIE_BYTES: usize = 16;
    /// Length of a TLS record with one alert in clear text, in bytes (RFC 8446 sections 5.1 and 6).
    const ALERT_BYTES: u32 = 7;

    const END: u64 = 1;
    const OTHER: u64 = 10;
    const MALFORMED: u64 = 11;
    const MORE: u64 = 12;
    /// Codes for runs of no operations, and the lengths of these runs, the longest first.
    const RUNS: [(u64, usize); 4] = [(15, 8), (14, 4), (13, 2), (2, 1)];
    const MAX_PADDING: usize = 15;

    /// Returns the layout of a SYN; `cut` means that the snaplen has cut the end of its options. Only IPv4 has an
    /// identification and a flag "don't fragment".
    pub(super) fn of_syn(
        identification: Option<u16>,
        dont_fragment: bool,
        options: &[u8],
        cut: bool,
        has_payload: bool,
    ) -> Self {
        let mut word = layout(options, cut);
        if has_payload {
            word |= Self::PAYLOAD;
        }
        if let Some(identification) = identification {
            word |= Self::IPV4;
            if identification == 0 {
                word |= Self::IDENTIFICATION_ZERO;
            }
            if dont_fragment {
                word |= Self::DONT_FRAGMENT;
            }
        }
        Self(word)
    }

    /// Returns whether a payload of so many bytes, of which these are captured, may have a mark.
    #[inline(always)] // for every segment
    pub(super) fn may_mark(payload_bytes: u32, captured: &[u8]) -> bool {
        payload_bytes == Self::COOKIE_BYTES
            || payload_bytes == Self::ALERT_BYTES
            || captured
                .first()
                .is_some_and(|first| Self::INITIALS[usize::from(*first)])
                && Self::begins_message(captured)
    }

    /// Returns whether so many bytes may begin a message that has a mark.
    #[cold]
    const fn begins_message(captured: &[u8]) -> bool {
        matches!(
            captured,
            [Self::CHANGE_CIPHER | Self::HANDSHAKE, 3, ..]
                | [b'G', b'E', ..]
                | [b'H', b'E' | b'T', ..]
                | [b'C' | b'P', b'O', ..]
                | [b'P', b'U', ..]
                | [b'4', b'2', ..]
                | [b'2' | b'5', b'3', ..]
        )
    }

    /// Returns the mark of a payload of so many bytes, of which these are captured.
    pub(super) fn of_payload(payload_bytes: u32, captured: &[u8]) -> Self {
        match captured {
            // SSL 3 to TLS 1.3 have the versions 3.0 to 3.4.
            [kind @ (Self::CHANGE_CIPHER | Self::HANDSHAKE), 3, 0..=4, ..] => {
                Self(Self::TLS_HANDSHAKE | u64::from(*kind))
            }
            // The methods of nearly all requests (RFC 9110 section 9.1).
            [b'G', b'E', b'T', b' ', target @ ..]
            | [b'P', b'U', b'T', b' ', target @ ..]
            | [b'P', b'O', b'S', b'T', b' ', target @ ..]
            | [b'H', b'E', b'A', b'D', b' ', target @ ..] => {
                // A client names the scheme to a proxy alone (RFC 9112 section 3.2.2).
                Self(Self::HTTP | u64::from(target.starts_with(b"http://")))
            }
            // Only a proxy is asked for a tunnel (RFC 9110 section 9.3.6).
            [b'C', b'O', b'N', b'N', b'E', b'C', b'T', b' ', ..] => Self(Self::HTTP | 1),
            // A status line (RFC 9112 section 4).
            [
                b'H',
                b'T',
                b'T',
                b'P',
                b'/',
                b'1',
                b'.',
                b'0' | b'1',
                b' ',
                status @ ..,
            ] => Self(status_code(status).map_or(0, |status| Self::HTTP | u64::from(status))),
            // The server opened no connection for data, or had to abort one; it took or refused a login (RFC 959 section
            // 4.2). The first line of several has a hyphen.
            [b'4', b'2', b'5' | b'6', b' ', ..] | [b'2' | b'5', b'3', b'0', b' ' | b'-', ..] => {
                Self(
                    status_code(captured)
                        .map_or(0, |code| Self::HTTP | Self::FTP | u64::from(code)),
                )
            }
            _ if payload_bytes == Self::ALERT_BYTES => Self::of_alert(captured),
            _ if payload_bytes == Self::COOKIE_BYTES => Self::of_cookie(captured),
            _ => Self(0),
        }
    }

    /// Returns the mark of a TLS record with one fatal alert. An encrypted one is longer, so this one ends a handshake.
    /// The description 0 closes a connection and is no error (RFC 8446 section 6.1).
    const fn of_alert(record: &[u8]) -> Self {
        match *record {
            [21, 3, _, 0, 2, 2, description] if description > 0 => {
                Self(Self::TLS_ALERT | description as u64)
            }
            _ => Self(0),
        }
    }

    /// Returns the mark of a payload of [`Self::COOKIE_BYTES`] bytes, of which these are captured. iperf3 begins each
    /// of its connections with 36 random characters of `a` to `z` and `2` to `7`, and a NUL (iperf3's `make_cookie`).
    fn of_cookie(captured: &[u8]) -> Self {
        let letters = usize::try_from(Self::COOKIE_BYTES - 1).unwrap_or_default();
        let (cookie, end) = captured.split_at(captured.len().min(letters));
        let is_cookie = cookie.len() >= Self::LEAST_COOKIE_BYTES
            && cookie
                .iter()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
            && end.first().is_none_or(|byte| *byte == 0);
        Self(if is_cookie { Self::IPERF3_COOKIE } else { 0 })
    }

    /// Returns whether the payload is a cookie of iperf3.
    #[must_use]
    pub const fn is_iperf3_cookie(self) -> bool {
        self.0 & Self::IPERF3_COOKIE != 0
    }

    /// Returns whether there is no mark, as on nearly all segments.
    #[must_use]
    #[inline(always)] // for every segment with payload
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the payload begins with a request of HTTP/1 in clear text.
    #[must_use]
    #[inline(always)] // for every segment with payload
    pub const fn is_http_request(self) -> bool {
        self.0 & Self::HTTP != 0 && self.low_bits() < Self::LEAST_STATUS
    }

    /// Returns the status of the response of HTTP/1 that the payload begins with; `None` where there is none.
    #[must_use]
    pub const fn http_status(self) -> Option<u16> {
        let is_response = self.0 & Self::HTTP != 0 && self.0 & Self::FTP == 0;
        if is_response && self.low_bits() >= Self::LEAST_STATUS {
            Some(self.low_bits())
        } else {
            None
        }
    }

    /// Returns the code of the payload, if it is FTP's reply to a login, or that a connection for data failed; else `None`.
    #[must_use]
    pub const fn ftp_reply(self) -> Option<u16> {
        const REPLY: u64 = Marks::HTTP | Marks::FTP;
        if self.0 & REPLY == REPLY {
            Some(self.low_bits())
        } else {
            None
        }
    }

    /// Returns whether the payload begins with a request of HTTP/1 to a proxy, in clear text.
    #[must_use]
    pub const fn is_proxy_request(self) -> bool {
        self.is_http_request() && self.0 & 1 != 0
    }

    /// Returns the content type of the TLS record of a handshake that the payload begins with; `None` where there is none.
    #[must_use]
    #[inline(always)] // for every segment with payload
    pub const fn tls_handshake(self) -> Option<u8> {
        self.value_of(Self::TLS_HANDSHAKE)
    }

    /// Returns the description of the fatal TLS alert that the payload is; `None` where it is none.
    #[must_use]
    #[inline(always)] // for every segment with payload
    pub const fn tls_alert(self) -> Option<u8> {
        self.value_of(Self::TLS_ALERT)
    }

    /// Returns the lowest 16 bits.
    const fn low_bits(self) -> u16 {
        let [low, high, ..] = self.0.to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// Returns the lowest byte, the value of a mark; `None` without the mark.
    #[inline(always)] // for every segment with payload
    const fn value_of(self, mark: u64) -> Option<u8> {
        if self.0 & mark == 0 {
            None
        } else {
            Some(self.0.to_le_bytes()[0])
        }
    }
}

/// Returns the number of three digits, from 100 to 599, that a text begins with; `None` where there is none.
fn status_code(text: &[u8]) -> Option<u16> {
    let [first @ b'1'..=b'5', rest @ ..] = text else {
        return None;
    };
    let [second @ b'0'..=b'9', third @ b'0'..=b'9', ..] = rest else {
        return None;
    };
    let digits = [first, second, third].into_iter();
    Some(digits.fold(0, |code, digit| 10 * code + u16::from(digit - b'0')))
}

/// Returns the codes of an option list, and its padding.
fn layout(list: &[u8], cut: bool) -> u64 {
    let (mut word, mut at) = (0, 0);
    let mut rest = list;
    while let Some((option, tail)) = rest.split_first() {
        if at == Marks::PADDING {
            let last = Marks::PADDING - 4;
            return word & !(15 << last) | Marks::MORE << last;
        }
        let code = match *option {
            kind::END => {
                let padding = tail.len().min(Marks::MAX_PADDING) as u64;
                return word | Marks::END << at | padding << Marks::PADDING;
            }
            kind::NO_OPERATION => {
                let same = rest.iter().take_while(|byte| **byte == kind::NO_OPERATION);
                let length = same.count();
                let fits = |run: &&(u64, usize)| run.1 <= length;
                let (code, run) = *Marks::RUNS.iter().find(fits).unwrap_or(&(Marks::OTHER, 1));
                rest = &rest[run..];
                word |= code << at;
                at += 4;
                continue;
            }
            kind::MSS => 3,
            kind::WINDOW_SCALE => 4,
            kind::SACK_PERMITTED => 5,
            kind::TIMESTAMPS => 6,
            kind::FAST_OPEN => 7,
            kind::MULTIPATH => 8,
            kind::SACK => 9,
            _ => Marks::OTHER,
        };
        let Some((_, after)) = split_value(tail) else {
            return word | Marks::MALFORMED << at;
        };
        rest = after;
        word |= code << at;
        at += 4;
    }
    if cut && at < Marks::PADDING {
        word |= Marks::MALFORMED << at;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the letters of a list's options, as a reader would write them.
    fn letters(list: &[u8], cut: bool) -> String {
        let word = layout(list, cut);
        (0..Marks::OPTIONS)
            .map(|at| (word >> (4 * at) & 15) as usize)
            .filter(|code| *code > 0)
            .map(|code| Marks::CODES[code])
            .collect()
    }

    #[test]
    fn options_are_kept_in_their_order() {
        let linux = [
            2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        assert_eq!(letters(&linux, false), "MSTNW");
        let macos = [
            2, 4, 5, 180, 1, 3, 3, 6, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 4, 2, 0, 0,
        ];
        assert_eq!(letters(&macos, false), "MNWNNTSE");
        assert_eq!(layout(&macos, false) >> Marks::PADDING, 1);
        assert_eq!(letters(&[], false), "");
    }

    #[test]
    fn what_cannot_be_read_is_marked() {
        assert_eq!(letters(&[2, 4, 5, 180, 3], false), "M!");
        assert_eq!(letters(&[2, 4, 5, 180, 8, 0, 1], false), "M!");
        assert_eq!(letters(&[2, 4, 5, 180], true), "M!");
        assert_eq!(letters(&[1; 39], false), "N".repeat(39));
        assert_eq!(letters(&[4, 2].repeat(13), false), "S".repeat(13));
        assert_eq!(letters(&[4, 2].repeat(14), false), "S".repeat(12) + "+");
    }

    #[test]
    fn a_cookie_is_recognised_by_its_letters() {
        let cookie = [&[b'a'; 18][..], &[b'7'; 18], &[0]].concat();
        for captured in [16, 30, 36, 37] {
            assert!(Marks::of_cookie(&cookie[..captured]).is_iperf3_cookie());
        }
        assert!(!Marks::of_cookie(&cookie[..15]).is_iperf3_cookie());
        for (at, byte) in [(0, b'A'), (20, b'8'), (36, b'a')] {
            let mut other = cookie.clone();
            other[at] = byte;
            assert!(!Marks::of_cookie(&other).is_iperf3_cookie());
        }
    }

    #[test]
    fn a_fatal_alert_in_clear_text_is_recognised() {
        // RFC 8446 section 6: content type 21, level 2 is fatal, 70 is protocol_version.
        let alert = [21, 3, 1, 0, 2, 2, 70];
        assert_eq!(Marks::of_payload(7, &alert).tls_alert(), Some(70));
        // A capture that cut the record does not show it, and a longer one is encrypted.
        assert_eq!(Marks::of_payload(7, &alert[..6]), Marks::default());
        assert!(!Marks::may_mark(8, &[21, 3, 1, 0, 3, 2, 70, 0]));
        // Other content, SSL 2, another length, a warning, and the end of a connection.
        for (at, byte) in [(0, 23), (1, 2), (4, 3), (5, 1), (6, 0)] {
            let mut other = alert;
            other[at] = byte;
            assert_eq!(Marks::of_payload(7, &other), Marks::default());
        }
    }

    #[test]
    fn a_record_of_a_handshake_is_recognised() {
        // RFC 5246 section 6.2.1: content type 22 is a handshake, 20 a change of the cipher; 23 is data.
        for (begin, kind) in [
            (&[22, 3, 1, 2, 0][..], Some(22)),
            (&[20, 3, 3, 0, 1, 1], Some(20)),
            (&[23, 3, 3, 0, 1], None),
            (&[22, 2, 1], None),
            (&[22, 3, 5], None),
            (&[22, 3], None), // the snaplen cut the record
        ] {
            assert_eq!(Marks::of_payload(500, begin).tls_handshake(), kind);
            assert!(kind.is_none() || Marks::may_mark(500, begin));
        }
    }

    #[test]
    fn a_request_of_http_is_recognised_by_its_method() {
        for (begin, is_request) in [
            (&b"GET / HTTP/1.1"[..], true),
            (b"POST /form HTTP/1.0", true),
            (b"PUT x", true),
            (b"HEAD /", true),
            (b"GET http://host:80/", true),
            (b"CONNECT host:80/", true),
            (b"GETTING", false),
            (b"PUSH ", false),
            (b"HTTP/1.1 200 OK", false),
            (b"GET", false), // the snaplen cut the method
        ] {
            let marks = Marks::of_payload(500, begin);
            assert_eq!(marks.is_http_request(), is_request);
            assert_eq!(marks.is_proxy_request(), begin.ends_with(b"host:80/"));
            assert!(!is_request || Marks::may_mark(500, begin));
        }
    }

    #[test]
    fn a_reply_is_recognised_by_its_status() {
        for (begin, http, ftp) in [
            (&b"HTTP/1.1 404 Not Found"[..], Some(404), None),
            (b"HTTP/1.0 200", Some(200), None),
            (b"HTTP/1.1 999 x", None, None),
            (b"HTTP/1.1 20", None, None), // the snaplen cut the status
            (b"HTTP/2 404", None, None),
            (b"425 Failed to establish connection.", None, Some(425)),
            (b"426 Failure writing network stream.", None, Some(426)),
            (b"421 Timeout.", None, None),
            (b"425-1", None, None),
            (b"530 Login incorrect.", None, Some(530)),
            (b"230-Welcome", None, Some(230)),
            (b"230", None, None),
            (b"550 No such file.", None, None),
            (b"GET / HTTP/1.1", None, None),
        ] {
            let marks = Marks::of_payload(500, begin);
            assert_eq!((marks.http_status(), marks.ftp_reply()), (http, ftp));
            let is_reply = http.is_some() || ftp.is_some();
            assert!(!is_reply || Marks::may_mark(500, begin) && !marks.is_http_request());
        }
    }

    proptest! {
        #[test]
        fn any_payload_has_at_most_one_mark(length: u32, captured in prop::collection::vec(any::<u8>(), 0..44)) {
            let marks = Marks::of_payload(length, &captured);
            let kinds = [marks.is_iperf3_cookie(), marks.tls_alert().is_some(), marks.tls_handshake().is_some(), marks.is_http_request(), marks.http_status().is_some(), marks.ftp_reply().is_some()];
            prop_assert!(kinds.iter().filter(|is| **is).count() <= 1);
            prop_assert!(marks == Marks::default() || Marks::may_mark(length, &captured));
        }

        #[test]
        fn any_bytes_have_a_layout(list in prop::collection::vec(any::<u8>(), 0..44), cut: bool) {
            let marks = Marks::of_syn(Some(0), true, &list, cut, true);
            prop_assert!(i64::try_from(marks.0).is_ok());
            prop_assert!(letters(&list, cut).len() <= 44);
        }
    }
}
