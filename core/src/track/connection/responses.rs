//! # Responses
//! Counts the server's responses in clear text, and those that are errors.

use crate::decode::Marks;

/// Responses of the server in clear text, as far as each begins a segment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Responses {
    /// Number of responses of HTTP/1 to requests, without interim ones (RFC 9110 section 15.2).
    pub http: u32,
    /// Number of errors without those of `challenges`.
    errors: u32,
    /// Status or code of the last of them; one of the server comes before one of the client.
    error: Option<u16>,
    /// Number of responses in a row that ask for credentials (RFC 9110 section 11), or refuse those of FTP. They are no
    /// errors if another follows.
    challenges: u32,
    /// Status of the last of them.
    challenge: Option<u16>,
}

impl Responses {
    /// Port of an FTP server: only its replies are read as those of FTP (RFC 959 section 5.2).
    const FTP_PORT: u16 = 21;
    /// FTP's replies that the login succeeded, and that it did not (RFC 959 section 4.2).
    const LOGGED_IN: u16 = 230;
    const NOT_LOGGED_IN: u16 = 530;
    /// Least status of an error of the server (RFC 9110 section 15.6).
    const SERVER_ERROR: u16 = 500;
    /// Status with which a server closes a connection on which no whole request came in time (RFC 9110 section 15.5.9).
    /// Where the client sent nothing, it answers no request: browsers leave spare connections so.
    const REQUEST_TIMEOUT: u16 = 408;

    /// Adds a payload of the server at `port`; `asked` is whether the client sent any before.
    pub fn add(&mut self, marks: Marks, port: u16, asked: bool) {
        if let Some(code) = marks.ftp_reply().filter(|_| port == Self::FTP_PORT) {
            match code {
                Self::LOGGED_IN => self.challenges = 0,
                Self::NOT_LOGGED_IN => self.add_challenge(code),
                _ => self.add_error(code),
            }
        }
        let Some(status) = marks
            .http_status()
            .filter(|status| *status >= 200 && (asked || *status != Self::REQUEST_TIMEOUT))
        else {
            return;
        };
        self.http = self.http.saturating_add(1);
        if matches!(status, 401 | 407) {
            self.add_challenge(status);
            return;
        }
        self.challenges = 0;
        if status >= 400 {
            self.add_error(status);
        }
    }

    fn add_challenge(&mut self, code: u16) {
        self.challenges = self.challenges.saturating_add(1);
        self.challenge = Some(code);
    }

    fn add_error(&mut self, code: u16) {
        self.errors = self.errors.saturating_add(1);
        let outranks = code >= Self::SERVER_ERROR || self.error < Some(Self::SERVER_ERROR);
        if outranks {
            self.error = Some(code);
        }
    }

    /// Returns the number of errors: responses with a status from 400 on, and replies of FTP that a connection for data
    /// or a login failed.
    #[must_use]
    pub const fn errors(&self) -> u32 {
        self.errors.saturating_add(self.challenges)
    }

    /// Returns the status or code of the last error, one of the server first; `None` without an error.
    #[must_use]
    pub fn error(&self) -> Option<u16> {
        self.challenge
            .filter(|_| self.challenges > 0 && self.error < Some(Self::SERVER_ERROR))
            .or(self.error)
    }
}
